/**
 * Serves a file that changes: each changed definition takes over without a restart. A faulty one is reported, and the
 * definition before it goes on.
 *
 * @module
 */

import { resolve } from 'node:path';
import { type RunningService, serve } from '../../index.ts';
import { system } from '../../platform.ts';
import type { Io } from '../shell/io.ts';
import { type FileWatch, watchFiles } from '../shell/watch.ts';
import { faultLines, loadDefinition } from './definition.ts';
import { openFreshImports } from './module.ts';

export async function serveWatched(file: string, io: Io): Promise<RunningService> {
  const files = new Set([resolve(file)]);
  let watch: FileWatch | undefined;
  let isChanged = false;
  let isReloading = false;

  const follow = () => {
    watch?.close();
    watch = watchFiles([...files], system, () => void reload());
  };
  const importFile = openFreshImports((path) => {
    if (files.has(path)) return;
    files.add(path);
    // Before the start there is nothing to follow yet.
    if (watch) follow();
  });
  const running = await serve(await loadDefinition(file, importFile), { environment: io.env });

  /** One at a time. What changes meanwhile is loaded afterwards. */
  async function reload(): Promise<void> {
    isChanged = true;
    if (isReloading) return;
    isReloading = true;
    while (isChanged) {
      isChanged = false;
      await reloadOnce();
    }
    isReloading = false;
  }

  async function reloadOnce(): Promise<void> {
    try {
      await running.reload(await loadDefinition(file, importFile));
      io.out(`Reloaded "${file}"\n`);
    } catch (error) {
      io.err(faultLines(`Cannot reload "${file}" (the service goes on as before)`, error));
    }
  }

  follow();
  return running;
}
