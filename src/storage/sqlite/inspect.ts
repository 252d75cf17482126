/**
 * What SQLite can say about its own file: pages and indexes, stray nodes, marks, guards.
 *
 * Only reads, in the snapshot of its caller. Where pages are damaged nothing else is asked: answers
 * from such a file prove nothing.
 *
 * @module
 */

import { treeFaults } from '../tree-faults.ts';
import type { Connection } from './connection.ts';
import { APPEND_ONLY } from './schema.ts';

/** Findings that SQLite names. A file that is damaged everywhere needs no longer list. */
const PAGE_FINDINGS_MAX = 100;

export function inspect(connection: Connection): string[] {
  const damage = damagedPages(connection);
  if (damage.length > 0) return damage;
  return [...strayNodes(connection), ...wrongMarks(connection), ...missingGuards(connection)];
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

/** Compares whole texts: a guard of the same name that guards nothing is not one. */
function missingGuards(connection: Connection): string[] {
  const rows = connection.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
  );
  const kept = new Map(rows.map(({ name, sql }) => [name, sql]));
  return GUARDS.flatMap(({ name, sql }) => {
    if (kept.get(name) === sql) return [];
    return [`the guard "${name}" ${kept.has(name) ? 'was replaced' : 'is missing'}`];
  });
}

/** SQLite keeps the text of a trigger as it was written, without the last semicolon. */
const GUARDS = [...APPEND_ONLY.matchAll(/(CREATE TRIGGER (\w+)\b.*?\bEND);/gs)].map(
  ([, sql, name]) => ({ name: `${name}`, sql }),
);
