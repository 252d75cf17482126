/**
 * Fetches manifests, checkpoints and proofs for `writ verify --service`.
 *
 * The verifier checks everything fetched here; fetching it proves nothing.
 *
 * @module
 */

import { firstPlaceOf, leafIndexOf, ORIGIN_SPAN } from '../../domain/log/origin.ts';
import { operations } from '../../protocol/operations.ts';
import { CommandFault, EXIT_CREDENTIAL } from '../shell/exit.ts';
import { parseJsonBytes } from '../shell/files.ts';
import { type Remote, statusExit } from '../shell/remote.ts';

export async function fetchedManifest(
  remote: Remote,
): Promise<{ body: Uint8Array; signature: string }> {
  const { status, body, headers } = await remote.ask('GET', operations.manifest.path);
  if (status === 401) {
    const how = 'give --gated-manifest, and a credential that it knows';
    const why = `"${remote.url}" asks for a credential before it shows its manifest; ${how}`;
    throw new CommandFault(why, { exit: EXIT_CREDENTIAL });
  }
  if (status !== 200) {
    const why = `"${remote.url}" answered ${status} for its manifest`;
    throw new CommandFault(why, { exit: statusExit(status) });
  }
  return { body, signature: headers.get('x-svc-signature') ?? '' };
}

/** The id that the service reports. */
export async function serviceIdAt(remote: Remote): Promise<string> {
  const answer = (await remote.json('GET', operations.discovery.path)) as {
    svc_discovery?: { service_id?: unknown };
  } | null;
  const id = answer?.svc_discovery?.service_id;
  if (typeof id === 'string') return id;
  throw new Error(`"${remote.url}" does not say which service it is`);
}

/** The newest checkpoint, in detail. */
export async function newest(remote: Remote | undefined): Promise<unknown> {
  const service = needed(remote);
  return detail(service, await newestId(service), '');
}

/** The newest checkpoint with a number below this one, in detail. */
export async function newestBelow(remote: Remote, end: number): Promise<unknown> {
  return detail(remote, await newestId(remote, end), '');
}

/** The newest checkpoint of the entry's log, with the proof of the entry's position. */
export async function coveringEntry(remote: Remote | undefined, entry: unknown): Promise<unknown> {
  const { sequence } = (entry ?? {}) as { sequence?: unknown };
  const position = typeof sequence === 'number' ? sequence : 0;
  const id = await newestId(needed(remote), firstPlaceOf(position) + ORIGIN_SPAN);
  return proved(needed(remote), id, 'leaf_index', leafIndexOf(position));
}

/** With the proof of the receipt's leaf. */
export async function coveringLeaf(remote: Remote | undefined, receipt: unknown): Promise<unknown> {
  const { leaf_hash } = (receipt ?? {}) as { leaf_hash?: unknown };
  const service = needed(remote);
  return proved(service, await newestId(service), 'leaf_hash', leaf_hash);
}

/** The proof of one leaf of a checkpoint's tree. */
export async function proofAt(remote: Remote, id: string, index: number): Promise<unknown> {
  const query = `?include_proof=true&leaf_index=${index}`;
  const { inclusion_proof } = (await detail(remote, id, query)) as { inclusion_proof?: unknown };
  return inclusion_proof;
}

/** With the proof that it extends an earlier one. */
export async function fetchExtending(
  remote: Remote | undefined,
  earlier: unknown,
): Promise<unknown> {
  const service = needed(remote);
  const { checkpoint_id } = (earlier ?? {}) as { checkpoint_id?: unknown };
  const query = `?consistency_from=${encodeURIComponent(String(checkpoint_id))}`;
  return detail(service, await newestId(service), query);
}

function needed(remote: Remote | undefined): Remote {
  if (remote) return remote;
  throw new Error('expected another file, or --service to fetch it from');
}

async function newestId(remote: Remote, below?: number): Promise<string> {
  const cursor = below === undefined ? '' : `&cursor=${below}`;
  const path = `${operations['checkpoints.list'].path}?limit=1${cursor}`;
  const { checkpoints } = (await remote.json('GET', path)) as {
    checkpoints?: { checkpoint_id?: string }[];
  };
  const id = checkpoints?.[0]?.checkpoint_id;
  if (id === undefined) throw new Error(`"${remote.url}" has no checkpoint`);
  return id;
}

/** A service without a proof answers 404: the result is then the checkpoint without a proof. */
async function proved(remote: Remote, id: string, field: string, value: unknown): Promise<unknown> {
  const query = `?include_proof=true&${field}=${encodeURIComponent(String(value))}`;
  const path = pathOf(id) + query;
  const { status, body } = await remote.ask('GET', path);
  if (status === 200) return parseJsonBytes(body, `the answer of "${remote.url}"`);
  return detail(remote, id, '');
}

function detail(remote: Remote, id: string, query: string): Promise<unknown> {
  return remote.json('GET', pathOf(id) + query);
}

function pathOf(id: string): string {
  const { path } = operations['checkpoints.get'];
  return path.replace('{checkpoint_id}', encodeURIComponent(id));
}
