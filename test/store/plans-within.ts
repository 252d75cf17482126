/**
 * Plans of the statements that PostgreSQL runs inside functions and triggers, which no EXPLAIN of the outer
 * statement shows: `auto_explain` sends them as notices.
 *
 * @module
 */

import type pg from 'pg';

/** A statement that a method ran, with its values. */
export interface Ran {
  readonly method: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A step of a plan: the table, the index where there is one, and the columns that it compares for equality. */
export interface Walk {
  readonly table: string;
  readonly index: string | undefined;
  readonly equal: readonly string[];
}

/** What the replay of some stores planned, and those of the stores without which a plan would be missing. */
export interface Replayed {
  readonly planned: readonly Planned[];
  readonly needed: readonly (readonly Ran[])[];
}

export interface Planned {
  readonly text: string;
  readonly methods: ReadonlySet<string>;
  readonly walks: readonly Walk[];
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The server sends each plan as a notice, those of statements in functions and of triggers, too. */
export const EXPLAINED = [
  'session_preload_libraries=auto_explain',
  'auto_explain.log_min_duration=0',
  'auto_explain.log_nested_statements=on',
  'auto_explain.log_format=json',
  'auto_explain.log_level=notice',
  'track_functions=all',
].map((setting) => `-c ${setting}`);

export const UNSEEN = `SELECT p.proname AS name FROM pg_proc p
  JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
  LEFT JOIN pg_stat_user_functions f ON f.funcid = p.oid
  WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype AND f.funcid IS NULL
  ORDER BY p.proname`;

/** Reads of tables, which have no plan but their own. */
const PLAIN_READ = /^\s*SELECT(?!.*\bwrit_)/is;

/** Statements of one store: long logs and random walks repeat theirs. */
const REPLAYED_MAX = 60;

/** A store that ran only statements of this many stores before it adds no plan. */
const STORES_OF_ONE_STATEMENT = 5;

/**
 * Runs what ran on each store again beside the foreign rows, each store in a transaction that is rolled back. A
 * statement that failed then fails again.
 */
export async function plannedWithin(
  client: pg.Client,
  transcripts: readonly (readonly Ran[])[],
  columns: ReadonlyMap<string, readonly string[]>,
): Promise<Replayed> {
  const found = new Map<string, Planned>();
  const needed: (readonly Ran[])[] = [];
  // A plan as the server sends it: most of them come again and again.
  const sent = new Set<string>();
  let method = '';
  const onNotice = ({ message = '' }: { message?: string | undefined }) => {
    const [, json] = /^duration: .* plan:\n(.*)$/s.exec(message) ?? [];
    if (json === undefined || sent.has(`${method} ${json}`)) return;
    sent.add(`${method} ${json}`);
    const { 'Query Text': text, Plan } = JSON.parse(json) as {
      'Query Text': string;
      Plan: PlanNode;
    };
    const walks = walksIn(Plan, undefined, columns);
    found.set(JSON.stringify([method, text, walks]), { text, methods: new Set([method]), walks });
  };
  client.on('notice', onNotice);
  const stores = new Map<string, number>();
  for (const transcript of transcripts) {
    const replayed = transcript.filter(({ text }) => !PLAIN_READ.test(text)).slice(0, REPLAYED_MAX);
    const ways = [...new Set(replayed.map((ran) => `${ran.method} ${ran.text}`))];
    if (ways.every((way) => (stores.get(way) ?? 0) >= STORES_OF_ONE_STATEMENT)) continue;
    for (const way of ways) stores.set(way, (stores.get(way) ?? 0) + 1);
    const before = found.size;
    await client.query('BEGIN');
    for (const ran of replayed) {
      // Ends the statement before: only then its own plan comes.
      await client.query('SAVEPOINT before');
      method = ran.method;
      const { text, values } = ran;
      await client
        .query({ text, values: [...values] })
        .catch(() => client.query('ROLLBACK TO before'));
    }
    await client.query('ROLLBACK');
    if (found.size > before) needed.push(transcript);
  }
  client.off('notice', onNotice);
  return { planned: [...found.values()], needed };
}

export function walksIn(
  node: PlanNode,
  above: string | undefined,
  columns: ReadonlyMap<string, readonly string[]>,
): Walk[] {
  const table = node['Relation Name'] ?? above;
  const below = (node.Plans ?? []).flatMap((plan) => walksIn(plan, table, columns));
  const isScan = /^(?:Seq|Index|Index Only|Bitmap Index) Scan$/.test(node['Node Type']);
  if (!isScan || table === undefined) return below;
  const equal = (node['Index Cond'] ?? '')
    .split(' AND ')
    .filter((condition) => condition.includes(' = '))
    .flatMap((condition) => condition.match(/\w+/g) ?? [])
    .filter((word) => columns.get(table)?.includes(word));
  return [{ table, index: node['Index Name'], equal: [...new Set(equal)] }, ...below];
}
