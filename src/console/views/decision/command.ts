/**
 * The command that computes digests without this page.
 *
 * @module
 */

import { base } from '../../api.ts';

export function digestCommand(approvalRequestId: string, nonce: string): string {
  const service = wordOf(`${location.origin}${base}`);
  return `writ approvals digest ${approvalRequestId} --service ${service} --nonce=${wordOf(nonce)}`;
}

/** As one word of a shell: an agent may have chosen the text. */
export function wordOf(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
