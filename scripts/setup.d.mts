/**
 * What tests may ask of setup.mjs, which is plain JavaScript because it runs before the compiler is
 * installed.
 *
 * @module
 */

export const NODE_MIN: string;
export function unsupportedNode(version: string): string | undefined;
export function installReason(found: {
  hasModules: boolean;
  stamp: string | undefined;
  wanted: string;
}): string | undefined;
export function buildReason(found: {
  stamp: string | undefined;
  wanted: string;
}): string | undefined;
export function installStamp(
  lock: string | Uint8Array,
  machine: { platform: string; arch: string; node: string },
): string;
export function buildStamp(root: string): string;
export function npmCommand(execPath: string | undefined): [string, ...string[]];
export function ensureInstalled(root: string): Promise<void>;
export function ensureBuilt(root: string): Promise<void>;
export function say(line: string): void;
