/**
 * The parts of the evidence on the page. `domain/decision` says what stands in each; here is how it looks.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { isEvidenceBad, isPreviewLost } from '../../../domain/decision/evidence.ts';
import { partFacts, type Shown } from '../../../domain/decision/facts.ts';
import { callMoney, distinctBudgets } from '../../../domain/decision/people.ts';
import type { PartFacts, Fact as Said } from '../../../domain/decision/pieces.ts';
import { personOf } from '../../../domain/decision/values.ts';
import type { Decision } from '../../../protocol/decision.ts';
import { BudgetBar } from '../../parts/budget.tsx';
import { Copy, effectLook, Fact } from '../../parts/elements.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { FactTable, Marked, PARAMETER_HEADS } from '../../parts/words.tsx';
import { Part, useReport } from './part.tsx';
import { commandFor } from './signing.tsx';

interface PartsProps {
  readonly shown: Shown;
}

/** The first screen: six facts in two columns. The sections below prove each fact. */
export function Summary({ shown }: PartsProps) {
  const { capability, quotes } = shown.of;
  const whole = useRef<HTMLDivElement>(null);
  useReport('summary', whole, { selector: 'dt', count: 6 + quotes.length });
  const { facts } = partFacts('summary', shown);
  const { icon, isFinal } = effectLook(capability?.side_effect ?? { type: 'irreversible' });
  const icons = [
    icon,
    ...ICONS.slice(0, 2),
    ...quotes.map(() => 'clock' as const),
    ...ICONS.slice(2),
  ];
  const rows = facts.map(({ label, words }, at) => (
    <Fact
      key={at}
      look={at === 0 && isFinal ? 'final' : undefined}
      term={
        <>
          <Icon name={icons[at] ?? 'seal'} />
          <Marked of={label} />
        </>
      }
      is={<Marked of={words} />}
    />
  ));
  return (
    <div class={`cols brief ${isFinal ? 'final' : 'write'}`} ref={whole}>
      <dl class="facts">{rows.slice(0, -3)}</dl>
      <dl class="facts">{rows.slice(-3)}</dl>
    </div>
  );
}

/** Of the facts after the effect: who asks, until when; the budget, the approvals, what changed. */
const ICONS: readonly IconName[] = ['agent', 'clock', 'money', 'check', 'write'];

function List({ of, look = 'facts' }: { readonly of: readonly Said[]; readonly look?: string }) {
  return (
    <dl class={look}>
      {of.map(({ label, words }, at) => (
        <Fact key={at} term={<Marked of={label} />} is={<Marked of={words} />} />
      ))}
    </dl>
  );
}

export function Preview({ shown }: PartsProps) {
  return (
    <Part
      name="preview"
      shown={shown}
      // Without the preview that the request names, the part is never complete.
      expects={({ facts }) => ['dt', isPreviewLost(shown.of) ? -1 : facts.length]}
    >
      {({ facts }) => <List of={facts} look="facts wide" />}
    </Part>
  );
}

export function AllParameters({ shown }: PartsProps) {
  return (
    <Part name="parameters" shown={shown} expects={rows}>
      {({ facts }) => (facts.length > 0 ? <FactTable of={facts} heads={PARAMETER_HEADS} /> : null)}
    </Part>
  );
}

export function Changes({ shown }: PartsProps) {
  return (
    <Part name="changes" shown={shown} expects={rows}>
      {({ facts }) => (facts.length > 0 ? <FactTable of={facts} heads={CHANGE_HEADS} /> : null)}
    </Part>
  );
}
const CHANGE_HEADS = ['Name', 'Then → now'] as const;

export function AgentsWords({ shown }: PartsProps) {
  return (
    <Part
      name="words"
      shown={shown}
      look="says-only"
      isQuiet
      expects={({ facts }) => ['blockquote', facts.length]}
    >
      {({ facts: [said] }) =>
        said ? (
          <figure class="says">
            <figcaption>
              <Marked of={said.label} />
            </figcaption>
            <Marked of={said.words} />
          </figure>
        ) : null
      }
    </Part>
  );
}

export function Hands({ shown }: PartsProps) {
  return (
    <Part
      name="hands"
      shown={shown}
      look="panel"
      expects={({ facts }) => ['ol > li', facts.length]}
    >
      {({ facts }) => (
        <ol class="stack small">
          {facts.map(({ label, words }, at) => (
            <li key={at}>
              <Marked of={label} /> <Marked of={words} />
            </li>
          ))}
        </ol>
      )}
    </Part>
  );
}

export function Budgets({ shown }: PartsProps) {
  const budgets = distinctBudgets(shown.of);
  return (
    <Part
      name="budgets"
      shown={shown}
      look="panel"
      expects={({ facts }) => ['figure', facts.length]}
    >
      {({ facts }) =>
        budgets.map((budget, at) => (
          <div key={budget.token_id}>
            <BudgetBar
              of={budget}
              cost={callMoney(shown.of)}
              label={personOf(budget.principal)}
              heading={<Marked of={facts[at]?.label ?? []} />}
            />
            <Marked of={facts[at]?.words ?? []} />
          </div>
        ))
      }
    </Part>
  );
}

interface TermsProps extends PartsProps {
  /** Where the person can choose other terms. */
  readonly editor: ComponentChildren;
}

export function Terms({ shown, editor }: TermsProps) {
  const { approvals } = shown.of.request;
  return (
    <Part
      name="terms"
      shown={shown}
      look="panel"
      expects={({ facts }) => ['dl.votes > dt', Math.max(facts.length, approvals.length)]}
    >
      {({ facts }) => (
        <>
          {editor}
          <List of={facts} look="facts wide votes" />
        </>
      )}
    </Part>
  );
}

export function Past({ shown }: PartsProps) {
  return (
    <Part name="history" shown={shown} look="panel" expects={rows}>
      {({ facts }) =>
        facts.length > 0 ? <FactTable of={facts} heads={PAST_HEADS} isNamed={false} /> : null
      }
    </Part>
  );
}
const PAST_HEADS = ['Asked', 'Decision'] as const;

/** Folded at the end: its heading says whether the digests match, and it opens itself where one does not. */
export function DigestList({ shown }: PartsProps) {
  const { request } = shown.of;
  return (
    <Part
      name="digests"
      shown={shown}
      isBad={isEvidenceBad(shown.of)}
      expects={() => ['code.hash', request.preview === null ? 1 : 2]}
    >
      {({ facts }) => (
        <>
          <List of={facts} look="facts wide" />
          <Command of={request} />
        </>
      )}
    </Part>
  );
}

function Command({ of }: { readonly of: Decision['request'] }) {
  const command = commandFor('show', of.approval_request_id);
  return (
    <p class="cmd small">
      <code>{command}</code> <Copy text={command} what="the command" />
    </p>
  );
}

function rows({ facts }: PartFacts): [string, number] {
  return ['tbody tr', facts.length];
}
