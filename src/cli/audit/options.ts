/**
 * The options of `writ audit`: filters of a query, the file of an export, and the credential.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { EntryType } from '../../protocol/audit.ts';
import { CREDENTIAL_VARIABLE, credentialFor } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import type { Io } from '../shell/io.ts';
import { type Remote, remoteAt } from '../shell/remote.ts';

const LIMIT_DEFAULT = 50;

export const AUDIT_USAGE = `Usage: writ audit query  --service <url> [filters]
       writ audit export --service <url> --out <file>

Query prints entries, newest first: as a table on a terminal, else as JSON lines.
  --capability, --since, --invocation-id, --client-reference-id, --task-id,
  --parent-invocation-id <value>   the filters of POST /svc/audit
  --type <type>    ${EntryType.options.slice(0, 5).join(', ')},
                   ${EntryType.options.slice(5).join(', ')}
                   or all (default: invocation)
  --limit <n>      how many at most (default: ${LIMIT_DEFAULT})
  --leaf           with the leaf of each, to verify it

Export saves the entries that the newest checkpoint covers, in a file for "writ
verify log": the whole log with an operator's credential (operator:audit), with
any other credential its own trail with a proof of each entry.
  --out <file>     a new file; it appears when it is complete
  --whole          export the whole log, or fail
  --trail          export a trail, even with an operator's credential

  --token-file <file>  the credential (default: $${CREDENTIAL_VARIABLE})
  --help               this text

Exit status: 0 done, 2 it could not be done.
`;

export interface AuditOptions {
  readonly remote: Remote;
  readonly limit: number;
  /** Fields of the request by their wire names. */
  readonly filters: Readonly<Record<string, string>>;
  readonly out?: string | undefined;
  /** What to export; without it, the entries that the credential may see decide. */
  readonly extent?: 'whole' | 'trail' | undefined;
}

export async function auditOptions(args: readonly string[], io: Io): Promise<AuditOptions> {
  const { values } = parseArgs({ args: joinedValues(args, options), options });
  if (values.service === undefined) throw new Error('no service is named; give --service');
  const { limit = String(LIMIT_DEFAULT) } = values;
  if (!/^[1-9]\d{0,8}$/.test(limit)) throw new Error(`"${limit}" is not a number of entries`);
  const filters = Object.entries(FILTERS).flatMap(([option, field]) => {
    const value = values[option as keyof typeof FILTERS];
    return value === undefined ? [] : [[field, value] as const];
  });
  const credential = await credentialFor(values.service, values['token-file'], io);
  return {
    remote: remoteAt(values.service, credential),
    limit: Number(limit),
    filters: { ...Object.fromEntries(filters), ...(values.leaf && { include: 'leaf' }) },
    out: values.out,
    extent: extentOf(values),
  };
}

function extentOf({ whole, trail }: { whole?: boolean; trail?: boolean }) {
  if (whole && trail) throw new Error('expected one of --whole and --trail');
  if (whole) return 'whole';
  return trail ? 'trail' : undefined;
}

const FILTERS = {
  capability: 'capability',
  since: 'since',
  'invocation-id': 'invocation_id',
  'client-reference-id': 'client_reference_id',
  'task-id': 'task_id',
  'parent-invocation-id': 'parent_invocation_id',
  type: 'entry_type',
} as const;

const options = {
  service: { type: 'string' },
  'token-file': { type: 'string' },
  out: { type: 'string' },
  limit: { type: 'string' },
  leaf: { type: 'boolean' },
  whole: { type: 'boolean' },
  trail: { type: 'boolean' },
  capability: { type: 'string' },
  since: { type: 'string' },
  'invocation-id': { type: 'string' },
  'client-reference-id': { type: 'string' },
  'task-id': { type: 'string' },
  'parent-invocation-id': { type: 'string' },
  type: { type: 'string' },
} as const;
