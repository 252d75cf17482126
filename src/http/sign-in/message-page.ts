/**
 * A page that only says something: why a request cannot be answered.
 *
 * @module
 */

import { evidenceOf, missingMain } from '../page/error-page.ts';
import { claimedText, foreignHtml, MESSAGE_LENGTH_MAX } from '../page/frame.ts';
import { type Frame, page } from './frame.ts';

interface MessageView {
  readonly title: string;
  readonly text: string;
  /** The way on. A path below that of the service. */
  readonly link?: { readonly path: `/${string}`; readonly label: string } | undefined;
  readonly proof: Parameters<typeof evidenceOf>[0];
}

export function messagePage(frame: Frame, { title, text, link, proof }: MessageView): string {
  const { path, label } = link ?? { path: '/', label: `Start page of ${frame.service}` };
  const main = missingMain({
    icon: 'cross',
    title,
    text: foreignHtml(text, MESSAGE_LENGTH_MAX),
    ways: [{ href: frame.basePath + path, label }],
    evidence: evidenceOf(proof),
  });
  return page(frame, { title: claimedText(title), main });
}
