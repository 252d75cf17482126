/**
 * The report about an exported file: the verdict, the first fault, the counts, and every check.
 *
 * @module
 */

import { useEffect, useRef } from 'preact/hooks';
import { clockOf, exact } from '../../domain/values/time-words.ts';
import { LOG_FORMAT } from '../../protocol/export.ts';
import type { ExportReport } from '../../verify/export/export.ts';
import type { Check, Outcome } from '../../verify/report.ts';
import { Fact, Hash, Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Notice } from '../parts/panels.tsx';

interface ReportProps {
  readonly of: ExportReport;
  readonly at: Date;
}

/** Takes the focus when it appears: the reader asked for it. */
export function FileReport({ of, at }: ReportProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [of]);
  const fault = firstFault(of.checks);
  const open = of.checks.filter(({ outcome }) => outcome === 'not_checked').length;
  return (
    <section aria-labelledby="h-report">
      <Notice state={LOOKS[of.verdict]}>
        <h2 id="h-report" ref={heading} tabIndex={-1}>
          {HEADINGS[of.verdict]}
        </h2>
        {fault ? (
          <p>
            First fault: {fault.what}: <Shown text={fault.detail ?? ''} />
          </p>
        ) : null}
        <p>
          {of.checks.length - open} of {of.checks.length} kinds of checks were made, in this
          browser, at {clockOf(at)}.
        </p>
      </Notice>
      <Counts of={of} />
      <Checks of={of.checks} />
      <p class="small muted">These checks cannot show {of.limits.join('; ')}.</p>
    </section>
  );
}

/** A changed entry changes every place and every root after it, so the fault of a line is the cause. */
const CAUSES = ['form', 'lines', 'leaves', 'order', 'breaks'];

function firstFault(checks: readonly Check[]): Check | undefined {
  const faults = checks.filter(({ outcome }) => outcome === 'failed');
  const causes = CAUSES.flatMap((cause) => faults.filter(({ what }) => what === cause));
  return causes[0] ?? faults[0];
}

const LOOKS = { verified: 'good', failed: 'bad', incomplete: 'warn' } as const;

const HEADINGS = {
  verified: 'The file holds',
  failed: 'This file does not hold. Do not rely on it.',
  incomplete: 'Nothing failed, and not all could be checked',
} as const;

function Counts({ of: { header, newest, checks } }: { readonly of: ExportReport }) {
  if (!header) return null;
  const isLog = header.format === LOG_FORMAT;
  const passkeys = checks.find(({ what }) => what === 'passkey');
  return (
    <div class="panel">
      <dl class="facts">
        <Fact term="Service" is={<Shown text={header.service_id} />} />
        <Fact term="Contents">
          {isLog
            ? `a whole log: ${header.tree_size} entries, ${header.checkpoints} checkpoints`
            : `a trail: ${header.entries} entries`}
        </Fact>
        {newest ? (
          <Fact term="Newest checkpoint">
            {newest.sequence}, of {newest.entry_count} entries, {exact(newest.created_at)}
            <div>
              <Hash hex={newest.merkle_root} what="the root of the newest checkpoint" />
            </div>
          </Fact>
        ) : null}
        <Fact term="Passkey approvals">
          {passkeys ? (
            <Shown text={passkeys.detail ?? ''} />
          ) : (
            'the file has no decision by a passkey'
          )}
        </Fact>
      </dl>
    </div>
  );
}

function Checks({ of }: { readonly of: readonly Check[] }) {
  return (
    <ul class="list" aria-label="Checks">
      {of.map(({ what, outcome, detail }, at) => (
        <li key={at}>
          <Icon name={OUTCOMES[outcome].icon} class={OUTCOMES[outcome].look} />
          <div class="body">
            <h3>
              <Shown text={what} />
            </h3>
            {detail === undefined ? null : (
              <p>
                <Shown text={detail} />
              </p>
            )}
          </div>
          <div class="side">{OUTCOMES[outcome].words}</div>
        </li>
      ))}
    </ul>
  );
}

const OUTCOMES = {
  ok: { icon: 'check', look: 'good', words: 'Holds' },
  failed: { icon: 'cross', look: 'bad', words: 'Fails' },
  not_checked: { icon: 'warning', look: 'warn', words: 'Not checked' },
} as const satisfies Record<Outcome, object>;
