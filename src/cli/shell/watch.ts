/**
 * Notices that one of a few files changed: by the folder's notices, and by looking at times and sizes, because some
 * file systems send no notice.
 *
 * Says only that something changed. Editors write in several steps, so a change is reported after a short quiet time.
 *
 * @module
 */

import { type FSWatcher, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Platform, Timer } from '../../platform.ts';

/** In milliseconds: an editor has written all of a file by then. */
const QUIET_MS = 100;

/** In milliseconds: how long a change stays unnoticed where the file system sends no notice. */
const LOOK_MS = 2_000;

export interface FileWatch {
  close(): void;
}

/** Calls `onChange` after any of the files appeared, changed or went. */
export function watchFiles(
  paths: readonly string[],
  platform: Pick<Platform, 'after' | 'every' | 'cancel'>,
  onChange: () => void,
): FileWatch {
  let seen = stampsOf(paths);
  let quiet: Timer | undefined;
  const report = () => {
    const now = stampsOf(paths);
    if (now === seen) return;
    seen = now;
    onChange();
  };
  const noticed = () => {
    platform.cancel(quiet);
    quiet = platform.after(QUIET_MS, report);
  };
  const watchers = [...new Set(paths.map((path) => dirname(path)))].flatMap((folder) =>
    watched(folder, noticed),
  );
  const looking = platform.every(LOOK_MS, report);
  return {
    close() {
      platform.cancel(quiet);
      platform.cancel(looking);
      for (const watcher of watchers) watcher.close();
    },
  };
}

/** Without a watcher where the system has none left: looking every two seconds remains. */
function watched(folder: string, onNotice: () => void): FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, onNotice);
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}

/** The inode too: a file that was replaced within one tick of the clock may have the same size. */
function stampsOf(paths: readonly string[]): string {
  return paths.map(stampOf).join(' ');
}

function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino}:${found.mtimeNs}:${found.size}` : 'none';
}
