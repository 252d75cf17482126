/**
 * The bodies of cards: a message for an incoming webhook of Slack, and JSON for a gateway that sends email.
 *
 * @module
 */

import type { EmailForm } from '../../config/webhook.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { Card } from './card.ts';

/** In characters, of one text of a block: what Slack takes. */
const SLACK_TEXT_MAX = 3_000;

/** In characters, of a subject: most programs show fewer. */
const SUBJECT_MAX = 200;

/**
 * Texts of callers stand in `plain_text` only, where Slack reads no format, mention or link. The three characters
 * that Slack reads are escaped there as well. The only `mrkdwn` is the link of this service.
 */
export function slackBody({ line, facts, link }: Card): JsonObject {
  const rows = facts.map(([name, text]) => `${name}: ${text}`).join('\n');
  return {
    // For notifications, which show no blocks.
    text: slackText(line),
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      plainSection(line),
      plainSection(rows),
      link === null
        ? plainSection('Decide at the command line: writ approvals show')
        : {
            type: 'section',
            text: {
              type: 'mrkdwn',
              verbatim: true,
              text: `<${slackLink(link)}|Open the request to decide>`,
            },
          },
    ],
  };
}

function plainSection(text: string): JsonObject {
  return { type: 'section', text: { type: 'plain_text', emoji: false, text: slackText(text) } };
}

/** Cut before it is escaped, so that no escape is cut: each character takes five at most. */
function slackText(text: string): string {
  const escaped = slackEscaped(text);
  if (escaped.length <= SLACK_TEXT_MAX) return escaped;
  return `${slackEscaped(text.slice(0, SLACK_TEXT_MAX / 5 - 1))}…`;
}

function slackEscaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A bar would end the address. */
function slackLink(link: string): string {
  return slackEscaped(link.replaceAll('|', '%7C'));
}

export function emailBody({ line, facts, link }: Card, form: EmailForm): JsonObject {
  const { fields, from, to, to_as } = form;
  return {
    [fields.from]: from,
    [fields.to]: to_as === 'list' ? to : to.join(', '),
    [fields.subject]: subjectOf(line),
    [fields.text]: [
      line,
      '',
      ...facts.map(([name, text]) => `${name}: ${text}`),
      '',
      link === null
        ? 'Decide at the command line: writ approvals show'
        : `Open the request to decide: ${link}`,
      '',
    ].join('\n'),
    [fields.html]: htmlOf({ line, facts, link }),
  };
}

/** One line: a line break in a subject could begin another header. */
function subjectOf(line: string): string {
  const one = [...`Approval: ${line.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')}`];
  return one.length <= SUBJECT_MAX ? one.join('') : `${one.slice(0, SUBJECT_MAX - 1).join('')}…`;
}

function htmlOf({ line, facts, link }: Card): string {
  const rows = facts.map(
    ([name, text]) => `<tr><th align="left">${escaped(name)}</th><td>${escaped(text)}</td></tr>`,
  );
  const way =
    link === null
      ? 'Decide at the command line: <code>writ approvals show</code>'
      : `<a href="${escaped(link)}">Open the request to decide</a>`;
  return `<p><b>${escaped(line)}</b></p><table>${rows.join('')}</table><p>${way}</p>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? '');
}
