/**
 * `writ verify stream`: verifies a folder of chunks that `writ audit stream` wrote, or that were fetched from its target.
 *
 * @module
 */

import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../keyring/key-file.ts';
import type { ExportGround } from '../../verify/export/lines.ts';
import { type StreamChunk, type StreamReport, verifyStream } from '../../verify/export/stream.ts';
import { chunksIn } from '../audit/stream/file-sink.ts';
import { CHUNK_NAME } from '../audit/stream/sink.ts';

export function folderReport(folder: string, ground: ExportGround): Promise<StreamReport> {
  return verifyStream(chunksOf(folder), ground);
}

function* chunksOf(folder: string): Generator<StreamChunk> {
  for (const name of namesIn(folder)) {
    const number = Number(CHUNK_NAME.exec(name)?.[1]);
    yield { name, number, content: createReadStream(join(folder, name)) };
  }
}

function namesIn(folder: string): string[] {
  try {
    return chunksIn(folder);
  } catch (error) {
    throw new Error(`"${folder}" cannot be read (${codeOf(error)})`, { cause: error });
  }
}
