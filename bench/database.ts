/**
 * The database server under load: the CPU time of its processes.
 *
 * @module
 */

import { Client } from 'pg';
import { parentOf, treeCpu } from './processes.ts';

export interface Database {
  /** CPU time that all processes of the server have used, in microseconds. NaN where the system does not tell. */
  cpu(): number;
}

/** A server on this machine: each session is a process below its first one. */
export async function databaseAt(url: string): Promise<Database> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const server = firstOf(rows[0].pid);
    return { cpu: () => treeCpu(server) };
  } finally {
    await client.end();
  }
}

function firstOf(session: number): number {
  try {
    return parentOf(session);
  } catch {
    return Number.NaN;
  }
}
