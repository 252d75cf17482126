/**
 * The store: whether it opens and can be written, its version, the room on its disk, its clock and its mark.
 *
 * Creates and migrates nothing. The only write is the probe that readiness makes too.
 *
 * @module
 */

import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { openHost } from '../../address/host.ts';
import { type Config, unsafeMark } from '../../config/config.ts';
import { countText } from '../../domain/values/count-text.ts';
import { storeAddress } from '../../service/log/compare-log.ts';
import { openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import { type LogState, logState, markAddressOf } from '../store/mark-state.ts';
import { type Finding, faultFinding, okFinding, reasonOf, warn } from './finding.ts';

/** In bytes: less than this lasts for a few days only, or for hours. */
const ROOM_SMALL = 1024 ** 3;
const ROOM_TINY = 100 * 1024 ** 2;

/** In bytes. A service empties the write-ahead log after 16 MiB, unless a reader or a crash prevents it. */
const WAL_LARGE = 256 * 1024 ** 2;

/** In milliseconds: expiries and leases of replicas with a larger difference disagree. */
const SKEW_MS = 2_000;

export async function checkStorage(config: Config, now: () => number): Promise<Finding[]> {
  const { store: url } = config;
  if (url === 'memory:') return [okFinding('store', 'in memory: nothing to check')];
  const disk = fileOf(url) === undefined ? [] : checkDisk(fileOf(url) as string);
  try {
    const store = await openStore(url, { create: false });
    try {
      const opened = okFinding('store', `${storeAddress(url)} opens, log ${store.logId}`);
      const rest = [await checkWrite(store), checkClock('store', store.now().getTime(), now())];
      return [opened, ...disk, ...rest, await checkMark(config, store)];
    } finally {
      await store.close();
    }
  } catch (error) {
    return [unopened(url, error), ...disk];
  }
}

function unopened(url: string, error: unknown): Finding {
  const why = reasonOf(error).replace(/^Cannot open the store: /, '');
  if (/^there is no store in /.test(why)) {
    return warn('store', why, 'start the service once, or restore a backup');
  }
  const advice = /^Cannot use the store:|^Cannot read the address/.test(why)
    ? 'start the database, or correct its address and credential'
    : 'see docs/operating.md, "Upgrading"';
  return faultFinding('store', `${storeAddress(url)}: ${why}`, advice);
}

async function checkWrite(store: Store): Promise<Finding> {
  try {
    await store.probe();
    return okFinding('store write', 'a row was written');
  } catch (error) {
    return faultFinding(
      'store write',
      reasonOf(error),
      'give this user the right to write, or free space',
    );
  }
}

function checkDisk(file: string): Finding[] {
  const folder = dirname(file);
  if (!existsSync(folder)) return [];
  const { bavail, bsize } = statfsSync(folder);
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return [checkRoom(bavail * bsize), checkLogSize(wal)];
}

/** The free space of the disk with the store. */
export function checkRoom(bytes: number): Finding {
  const found = `${Math.floor(bytes / 1024 ** 2)} MiB are free on the disk of the store`;
  if (bytes >= ROOM_SMALL) return okFinding('disk', found);
  const advice = 'free space or move the store to a larger disk';
  return bytes >= ROOM_TINY ? warn('disk', found, advice) : faultFinding('disk', found, advice);
}

function checkLogSize(bytes: number): Finding {
  const found = `the write-ahead log has ${Math.floor(bytes / 1024 ** 2)} MiB`;
  if (bytes < WAL_LARGE) return okFinding('disk', found);
  return warn(
    'disk',
    found,
    'end long backups and readers; a clean stop of all services empties it',
  );
}

/** The difference between the clock of this process and another one. */
export function checkClock(other: string, theirs: number, ours: number): Finding {
  const skew = Math.round(theirs - ours);
  const found = `the clock of the ${other} differs by ${(skew / 1_000).toFixed(1)} s`;
  if (Math.abs(skew) <= SKEW_MS) return okFinding('clock', found);
  return warn('clock', found, 'synchronise both machines (NTP)');
}

async function checkMark(config: Config, store: Store): Promise<Finding> {
  const unsafe = unsafeMark({ ...config, host: '0.0.0.0' });
  if (unsafe !== undefined && openHost(config) !== undefined) {
    return faultFinding('mark', unsafe, 'the service does not start until then');
  }
  const file = fileOf(markAddressOf(config) ?? '');
  if (file !== undefined && !existsSync(file)) {
    const { size } = await store.sequence();
    if (size === 0) return okFinding('mark', `"${file}" is made by the first start`);
    return faultFinding(
      'mark',
      `there is no mark in "${file}", and the log has ${countText(size, 'entry', 'entries')}`,
      'see docs/operating.md, "The mark is missing"',
    );
  }
  try {
    const finding = relationOf(await logState(config, store), config);
    return unsafe === undefined || finding.level === 'fault'
      ? finding
      : warn('mark', unsafe, 'allowed on a loopback address only');
  } catch (error) {
    return faultFinding('mark', reasonOf(error), 'make the mark reachable');
  }
}

function relationOf({ state, why }: LogState, { mark }: Config): Finding {
  if (state === 'rolled_back' || state === 'mark_missing') {
    return faultFinding('mark', why, 'the service appends nothing until an operator decides');
  }
  if (state === 'unknown') return warn('mark', why, 'run this command again');
  return okFinding('mark', `${mark === undefined ? 'none' : storeAddress(mark)}: ${why}`);
}

function fileOf(url: string): string | undefined {
  return /^sqlite:(.+)$/s.exec(url)?.[1];
}
