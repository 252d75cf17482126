/**
 * Checkpoints: whether the signed heads of the log are signed, only grow, and are the same for everyone.
 *
 * The specification names the fields of a checkpoint, not the form of its signature and its proofs. Where a service
 * writes them as this project does, they are verified; elsewhere those cases do not apply.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import { countText } from '../../domain/values/count-text.ts';
import { type Report, readKeys, verifyCheckpoint, verifyConsistency } from '../../verify/index.ts';
import type { Case } from '../case.ts';
import { field, listAt, numberAt, textAt } from '../target/fields.ts';
import {
  broken,
  count,
  eachAttempt,
  held,
  isSuccess,
  NotApplicable,
  noneAccepted,
  notApplicable,
} from '../target/outcome.ts';
import type { Answer } from '../target/wire.ts';
import { askHealthy, operationPath, tokenOf, type World } from '../target/world.ts';

async function listed(world: World): Promise<readonly unknown[]> {
  const path = `${operationPath(world, 'checkpoints')}?limit=20`;
  const { json } = await askHealthy(world, { method: 'GET', path });
  const checkpoints = listAt(json, 'checkpoints');
  if (checkpoints.length === 0) throw new NotApplicable('the service lists no checkpoint');
  return checkpoints;
}

function detailPath(world: World, id: string): string {
  const own = world.service.endpoints.get('checkpoint');
  const name = encodeURIComponent(id);
  return own?.includes('{')
    ? own.replace(/\{[^}]*\}/, name)
    : `${operationPath(world, 'checkpoints')}/${name}`;
}

function detail(world: World, id: string, query = ''): Promise<Answer> {
  return askHealthy(world, { method: 'GET', path: detailPath(world, id) + query });
}

/** The form of a signature that this project writes: a detached JWS. */
const DETACHED = /^[\w-]+\.\.[\w-]+$/;

function anchorsOf(world: World) {
  const keys = readKeys({ jwks: world.service.jwks, pinned: 'all' });
  if ('fault' in keys) throw new NotApplicable(`the key set cannot be used: ${keys.fault}`);
  return { keys, now: world.now(), serviceId: world.service.id };
}

/** The first check that failed. What could not be checked is no failure. */
function failedIn({ checks }: Report): string | undefined {
  const found = checks.find(({ outcome }) => outcome === 'failed');
  return found && `${found.what}: ${found.detail ?? 'failed'}`;
}

/** Ids of checkpoints that a careless service looks up in files, tables or objects. */
const IDS = [
  'ckpt-00000000000000000000000000',
  '__proto__',
  '..%2f..%2fetc%2fpasswd',
  '%00',
  '-1',
  "'",
  'x'.repeat(4_000),
];

const SIZES = [
  'leaf_index=-1',
  'leaf_index=99999999999',
  'leaf_index=1.5',
  'leaf_index=x',
  'leaf_hash=00',
  'consistency_from=x',
];

/** Waits for a checkpoint that covers the first call of the run. A cadence is usually a few seconds. */
async function provedToOwner(world: World): Promise<{ invocationId: string; path: string }> {
  const { first } = world;
  if (!first) throw new NotApplicable('no free read capability could be called');
  const { invocationId, jwt } = first;
  for (let tries = 1; tries <= SEAL_TRIES; tries++) {
    const id = textAt((await listed(world))[0], 'checkpoint_id') ?? '';
    const path = `${detailPath(world, id)}?include_proof=true&invocation_id=${encodeURIComponent(invocationId)}`;
    const { json } = await askHealthy(world, { method: 'GET', path, bearer: jwt });
    if (field(json, 'inclusion_proof') !== undefined) return { invocationId, path };
    await pause(SEAL_WAIT_MS);
  }
  throw new NotApplicable('the owner gets no proof by invocation_id either');
}

/** Times that a newer checkpoint is looked for, and the milliseconds between them. */
const SEAL_TRIES = 8;
const SEAL_WAIT_MS = 1_000;

export const checkpointCases: readonly Case[] = [
  {
    id: 'log.checkpoint-order',
    tries: 'Comparing all listed checkpoints with each other.',
    holds: 'Each sequence is there once, and the tree never shrinks.',
    basis: 'Checkpoint: sequence, entry_count',
    async run(world) {
      const checkpoints = [...(await listed(world))].sort(
        (one, other) => (numberAt(one, 'sequence') ?? 0) - (numberAt(other, 'sequence') ?? 0),
      );
      for (const [index, checkpoint] of checkpoints.entries()) {
        const before = index === 0 ? undefined : checkpoints[index - 1];
        if (before === undefined) continue;
        const [sequence, earlier] = [
          numberAt(checkpoint, 'sequence'),
          numberAt(before, 'sequence'),
        ];
        if (sequence === earlier) return broken(`two checkpoints have the sequence ${sequence}`);
        const [size, smaller] = [
          numberAt(checkpoint, 'entry_count') ?? 0,
          numberAt(before, 'entry_count') ?? 0,
        ];
        if (size < smaller)
          return broken(
            `checkpoint ${sequence} has ${countText(size, 'entry', 'entries')}, ${earlier} has ${smaller}`,
          );
      }
      return held(`${count(checkpoints.length, 'checkpoint')} in order`);
    },
  },
  {
    id: 'log.checkpoint-signature',
    tries: 'Verifying the signatures of the listed checkpoints by the published keys.',
    holds: 'Each verifies.',
    basis: 'JWKS: used to verify checkpoint signatures',
    async run(world) {
      const checkpoints = await listed(world);
      const anchors = anchorsOf(world);
      for (const checkpoint of checkpoints) {
        if (!DETACHED.test(textAt(checkpoint, 'signature') ?? '')) {
          return notApplicable('the signature has a form that the specification does not describe');
        }
        const fault = failedIn(await verifyCheckpoint(checkpoint, anchors));
        if (fault) return broken(`checkpoint ${numberAt(checkpoint, 'sequence')}: ${fault}`);
      }
      return held(`${count(checkpoints.length, 'signature')} verified`);
    },
  },
  {
    id: 'log.one-history',
    tries:
      'Reading each checkpoint again: by its id, as another principal, and without a credential.',
    holds: 'Everyone gets the same root and the same size.',
    basis: 'GET /svc/checkpoints/{id}: one Checkpoint',
    async run(world) {
      const checkpoints = (await listed(world)).slice(0, 5);
      const bearers = [undefined, (await tokenOf(world, world.other)).jwt];
      for (const checkpoint of checkpoints) {
        const id = textAt(checkpoint, 'checkpoint_id') ?? '';
        for (const bearer of bearers) {
          const path = detailPath(world, id);
          const answer = await askHealthy(world, { method: 'GET', path, bearer });
          if (!isSuccess(answer))
            return broken(`the listed checkpoint "${id}" is not found (${answer.status})`);
          const names = ['merkle_root', 'entry_count', 'sequence', 'created_at'];
          const other = names.find((name) => field(answer.json, name) !== field(checkpoint, name));
          if (other) return broken(`the checkpoint "${id}" has two values of "${other}"`);
        }
      }
      return held(`${count(checkpoints.length, 'checkpoint')}, the same for everyone`);
    },
  },
  {
    id: 'log.growth',
    tries: 'Asking for the proof that the newest checkpoint contains the oldest listed one.',
    holds: 'The proof verifies.',
    basis: 'practice: checkpoints are append-only; the proof is an extension',
    async run(world) {
      const checkpoints = await listed(world);
      const [newest, oldest] = [checkpoints[0], checkpoints.at(-1)];
      if (newest === oldest) return notApplicable('the service lists one checkpoint only');
      const ids = [newest, oldest].map((each) => textAt(each, 'checkpoint_id') ?? '');
      const [later = '', earlier = ''] = ids;
      const { json } = await detail(
        world,
        later,
        `?consistency_from=${encodeURIComponent(earlier)}`,
      );
      if (field(json, 'consistency_proof') === undefined)
        return notApplicable('the service gives no consistency proof');
      const fault = failedIn(
        await verifyConsistency({ earlier: oldest, later: json }, anchorsOf(world)),
      );
      return fault
        ? broken(fault)
        : held(
            `checkpoint ${numberAt(newest, 'sequence')} begins with ${numberAt(oldest, 'sequence')}`,
          );
    },
  },
  {
    id: 'log.checkpoint-ids',
    tries: 'Reading checkpoints under names that do not exist, and paths in their place.',
    holds: 'The service finds nothing.',
    basis: 'GET /svc/checkpoints/{id}',
    async run(world) {
      const base = operationPath(world, 'checkpoints');
      const attempts = await eachAttempt(IDS, async (id) => ({
        what: `the id "${id.slice(0, 20)}"`,
        answer: await world.wire.ask({ method: 'GET', path: `${base}/${id}` }),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'log.proof-sizes',
    tries: 'Asking for proofs of leaves that do not exist.',
    holds: 'No answer has a proof.',
    basis: 'practice: a proof of nothing would prove anything; proofs are an extension',
    async run(world) {
      const [newest] = await listed(world);
      const id = textAt(newest, 'checkpoint_id') ?? '';
      const real = await detail(world, id, '?include_proof=true&leaf_index=0');
      if (field(real.json, 'inclusion_proof') === undefined)
        return notApplicable('the service gives no inclusion proof');
      for (const size of SIZES) {
        const { json } = await detail(world, id, `?include_proof=true&${size}`);
        const proof = field(json, 'inclusion_proof') ?? field(json, 'consistency_proof');
        if (proof !== undefined) return broken(`${size} has a proof`);
      }
      return held(`${SIZES.length} places that do not exist, no proof`);
    },
  },
  {
    id: 'log.foreign-proof',
    tries: 'Asking for the place of an invocation of another principal in the log.',
    holds: 'No answer has a proof: it would show that the invocation happened.',
    basis: 'POST /svc/audit: a principal sees only its own trail; proofs are an extension',
    async run(world) {
      const { invocationId, path } = await provedToOwner(world);
      const stranger = await tokenOf(world, world.other);
      for (const bearer of [undefined, stranger.jwt]) {
        const { json } = await askHealthy(world, { method: 'GET', path, bearer });
        const name = bearer ? world.other.name : 'a stranger';
        if (field(json, 'inclusion_proof') !== undefined)
          return broken(`${name} gets a proof for "${invocationId}"`);
      }
      return held('no proof for strangers');
    },
  },
];
