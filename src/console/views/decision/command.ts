/**
 * Commands that show the request, and compute digests, without this page.
 *
 * @module
 */

import { base } from '../../api.ts';

export function commandFor(verb: 'show' | 'digest', approvalRequestId: string): string {
  const service = wordOf(`${location.origin}${base}`);
  return `writ approvals ${verb} ${approvalRequestId} --service ${service}`;
}

/** As one word of a shell: an agent may have chosen the text. */
export function wordOf(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
