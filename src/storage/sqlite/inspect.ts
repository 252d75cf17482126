/**
 * What SQLite can say about its own file: pages and indexes, stray nodes, marks, schema.
 *
 * Only reads, in the snapshot of its caller. Where pages are damaged nothing else is asked: answers
 * from such a file prove nothing.
 *
 * @module
 */

import { treeFaults } from '../tree-faults.ts';
import { type Connection, IN_MEMORY, openConnection } from './connection.ts';
import { migrate } from './migrations.ts';

/** Findings that SQLite names. A file that is damaged everywhere needs no longer list. */
const PAGE_FINDINGS_MAX = 100;

export function inspect(connection: Connection): string[] {
  const damage = damagedPages(connection);
  if (damage.length > 0) return damage;
  return [...strayNodes(connection), ...wrongMarks(connection), ...changedSchema(connection)];
}

/** Also compares every index with its table. */
function damagedPages(connection: Connection): string[] {
  const rows = connection.all<{ integrity_check: string }>(
    `PRAGMA integrity_check(${PAGE_FINDINGS_MAX})`,
  );
  const words = rows.map(({ integrity_check }) => integrity_check);
  return words.filter((word) => word !== 'ok').map((word) => `the file is damaged: ${word}`);
}

function strayNodes(connection: Connection): string[] {
  const row = connection.get<{ size: bigint; kept: bigint; ahead: bigint; first: string | null }>(
    `SELECT size, (SELECT count(*) FROM nodes) AS kept, count(level) AS ahead,
       min(level || '/' || "index") AS first
     FROM head LEFT JOIN nodes ON "index" >= (size >> level)`,
  );
  if (!row) return ['the tree has no head'];
  const counts = { size: Number(row.size), kept: Number(row.kept), ahead: Number(row.ahead) };
  return treeFaults({ ...counts, firstAhead: row.first }, 1);
}

/**
 * A mark that is too early, or of a place not reached yet, hides entries from queries by time. The
 * entries between two marks are read once, and the greatest time carried on from mark to mark.
 */
function wrongMarks(connection: Connection): string[] {
  const rows = connection.all<{ sequence: bigint }>(
    `WITH spans AS (
       SELECT sequence, latest, lag(sequence, 1, 0) OVER (ORDER BY sequence) AS start FROM marks
     ), newest AS (
       SELECT sequence, latest, max((
         SELECT max(timestamp) FROM log
         WHERE log.sequence >= spans.start AND log.sequence < spans.sequence
       )) OVER (ORDER BY sequence) AS newest FROM spans
     )
     SELECT sequence FROM newest
     WHERE latest < newest OR sequence > (SELECT size FROM head) ORDER BY sequence`,
  );
  if (rows.length === 0) return [];
  const first = rows[0]?.sequence;
  return [`marks of time that hide entries: ${rows.length}, the first at ${first}`];
}

/**
 * Compares whole texts: a guard of the same name that guards nothing is not one. A guard that nobody
 * knows may change what is written, so it is named too; an index of the operator's own does no harm.
 */
function changedSchema(connection: Connection): string[] {
  const kept = new Map(schemaOf(connection).map((part) => [part.name, part]));
  const ours = ownSchema();
  const strangers = [...kept.values()].filter(({ type, name }) => {
    return type === 'trigger' && !ours.some((part) => part.name === name);
  });
  return [
    ...ours.flatMap(({ type, name, sql }) => {
      const found = kept.get(name);
      if (found?.sql === sql) return [];
      return [`the ${WORDS[type]} "${name}" ${found ? 'was replaced' : 'is missing'}`];
    }),
    ...strangers.map(({ name }) => `the trigger "${name}" is none of the store`),
  ];
}

const WORDS = { table: 'table', index: 'index', trigger: 'guard' } as const;

interface SchemaPart {
  readonly type: keyof typeof WORDS;
  readonly name: string;
  readonly sql: string;
}

let own: readonly SchemaPart[] | undefined;

/** What every store has: a new one is made and looked at, once. */
function ownSchema(): readonly SchemaPart[] {
  if (own) return own;
  const fresh = openConnection(IN_MEMORY);
  migrate(fresh);
  own = schemaOf(fresh);
  fresh.close();
  return own;
}

/** Without what SQLite makes for itself. */
function schemaOf(connection: Connection): SchemaPart[] {
  return connection.all<SchemaPart>(
    "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
  );
}
