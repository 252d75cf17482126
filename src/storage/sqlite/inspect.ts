/**
 * Checks that SQLite can make of its own file: pages and indexes, stray nodes, time marks, schema.
 *
 * Only reads, in the snapshot of its caller. When pages are damaged it stops: other results would prove
 * nothing.
 *
 * @module
 */

import { ORIGIN_SPAN } from '../../domain/log/origin.ts';
import { treeFaults } from '../fsck/tree-faults.ts';
import { type Connection, IN_MEMORY, openConnection } from './connection.ts';
import { readHead } from './log/writer.ts';
import { migrate } from './schema/migrations.ts';

/** Findings that SQLite lists. A file that is damaged everywhere needs no longer list. */
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
  const row = connection.get<{ kept: bigint; ahead: bigint; first: string | null }>(
    `SELECT (SELECT count(*) FROM nodes) AS kept, count(level) AS ahead,
       min(level || '/' || "index") AS first
     FROM head LEFT JOIN nodes ON "index" >= (size >> level)`,
  );
  if (!row) return ['the tree has no head'];
  const counts = { sizes: treeSizes(connection), kept: Number(row.kept), ahead: Number(row.ahead) };
  return treeFaults({ ...counts, firstAhead: row.first }, 1);
}

/** Of every log: up to its last entry; of the current log: the size in the head. */
function treeSizes(connection: Connection): number[] {
  const head = readHead(connection);
  const ended = connection.all<{ size: bigint }>(
    `SELECT coalesce((SELECT max(sequence) + 1 - first FROM log
       WHERE sequence >= first AND sequence < first + ${ORIGIN_SPAN}), 0) AS size
     FROM origins WHERE first < ? ORDER BY first`,
    head.first,
  );
  return [...ended.map(({ size }) => Number(size)), head.size];
}

/**
 * A mark with too early a time, or at a place beyond the log, hides entries from queries by time. Reads the
 * entries between two marks once, and carries the greatest time from mark to mark.
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
  return [`time marks that hide entries: ${rows.length}, the first at ${first}`];
}

/**
 * Compares whole texts: a trigger of the right name with another body guards nothing. Reports foreign
 * triggers and unique indexes, which may change or refuse writes; other indexes of the operator do no harm.
 */
function changedSchema(connection: Connection): string[] {
  const kept = new Map(schemaOf(connection).map((part) => [keyOf(part), part]));
  const ours = new Map(ownSchema().map((part) => [keyOf(part), part]));
  const changes = [...ours].flatMap(([key, { type, name, sql }]) => {
    const found = kept.get(key);
    if (found?.sql === sql) return [];
    return [`the ${WORDS[type]} "${name}" ${found ? 'was changed' : 'is missing'}`];
  });
  const strangers = [...kept].filter(([key, part]) => !ours.has(key) && isEffective(part));
  return [
    ...changes,
    ...strangers.map(([, { type, name, on }]) => `the ${type} "${name}" on "${on}" is not ours`),
  ];
}

/** Each type has its own namespace. */
function keyOf({ type, name }: SchemaPart): string {
  return `${type} ${name}`;
}

function isEffective({ type, sql }: SchemaPart): boolean {
  return type === 'trigger' || (type === 'index' && /^CREATE UNIQUE /i.test(sql));
}

const WORDS = { table: 'table', index: 'index', trigger: 'guard' } as const;

interface SchemaPart {
  readonly type: keyof typeof WORDS;
  readonly name: string;
  /** Its table. */
  readonly on: string;
  readonly sql: string;
}

let own: readonly SchemaPart[] | undefined;

/** The schema of every store, read once from a new store in memory. */
function ownSchema(): readonly SchemaPart[] {
  if (own) return own;
  const fresh = openConnection(IN_MEMORY);
  migrate(fresh);
  own = schemaOf(fresh);
  fresh.close();
  return own;
}

/** Without SQLite's internal objects. */
function schemaOf(connection: Connection): SchemaPart[] {
  return connection.all<SchemaPart>(
    `SELECT type, name, tbl_name AS "on", sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_'`,
  );
}
