/**
 * `writ verify stream`: verifies a folder of chunks that `writ audit stream` wrote, or that were fetched from its target.
 *
 * @module
 */

import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../keyring/key-file.ts';
import type { ExportAnchors } from '../../verify/export/lines.ts';
import { type StreamChunk, type StreamReport, verifyStream } from '../../verify/export/stream.ts';
import { CHUNK_NAME, chunksIn } from '../audit/stream/sink.ts';
import type { Io } from '../shell/command.ts';
import { startProgress } from '../shell/output.ts';

export function folderReport(
  folder: string,
  anchors: ExportAnchors,
  io: Io,
): Promise<StreamReport> {
  return verifyStream(chunksOf(folder, io), anchors);
}

/** Says how far the folder is read. */
function* chunksOf(folder: string, io: Io): Generator<StreamChunk> {
  const names = namesIn(folder);
  const progress = startProgress(io);
  try {
    for (const [index, name] of names.entries()) {
      progress.say(`chunk ${index + 1} of ${names.length}`);
      const number = Number(CHUNK_NAME.exec(name)?.[1]);
      yield { name, number, content: createReadStream(join(folder, name)) };
    }
  } finally {
    progress.end();
  }
}

function namesIn(folder: string): string[] {
  try {
    return chunksIn(folder);
  } catch (error) {
    throw new Error(`"${folder}" cannot be read (${errorCode(error)})`, { cause: error });
  }
}
