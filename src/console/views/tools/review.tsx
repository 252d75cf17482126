/**
 * One tool that needs a review: what is found in its text, what changed, and the button that accepts it.
 *
 * Names, descriptions and schemas are text of strangers.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import { hiddenFields } from '../../../domain/decision/hidden.ts';
import { titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { ShownReview } from '../../../protocol/console/reviews.ts';
import { me } from '../../api.ts';
import { Code, Fact, Hash, Pill, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Evidence, Notice } from '../../parts/panels.tsx';
import { Value } from '../../parts/words.tsx';
import { counted } from '../counted.ts';
import { inputWords, partWords, type Span, wordDiff } from './words.ts';

const KINDS = {
  new: { pill: 'act', words: 'New', icon: 'tool', accept: 'Review and turn on…' },
  changed: { pill: 'warn', words: 'Changed', icon: 'warning', accept: 'Accept the new text…' },
  gone: { pill: 'off', words: 'Gone', icon: 'cross', accept: '' },
} as const;

interface ReviewProps {
  readonly of: ShownReview;
  onAccept(review: ShownReview): void;
}

export function Review({ of, onAccept }: ReviewProps) {
  const title = useId();
  const { name, kind, digest, now, parts, is_whole } = of;
  const { pill, words, icon, accept } = KINDS[kind];
  const mayAccept = digest !== undefined && is_whole && me.value?.operates.includes('review');
  return (
    <section class={kind === 'new' ? 'panel' : 'panel warn'} aria-labelledby={title}>
      <div class="head mid">
        <h3 id={title}>
          <Icon name={icon} {...(kind === 'new' ? {} : { class: 'warn' })} />{' '}
          <Shown text={titleOf(name)} /> <Code text={name} />
        </h3>{' '}
        <Pill state={pill}>{words}</Pill>
      </div>
      <Hidden of={of} />
      {is_whole ? null : <p>It is too long for this page. Read it with writ guard review.</p>}
      {kind === 'gone' ? (
        <p class="small">The server no longer has it: calls are refused.</p>
      ) : null}
      {kind === 'new' && now ? <Claims of={now} /> : null}
      {kind === 'new' && parts.length > 0 ? <Everything of={parts} /> : null}
      {kind === 'changed' ? parts.map((part) => <Difference key={part.part} of={part} />) : null}
      {mayAccept ? (
        <div class="row">
          <button type="button" onClick={() => onAccept(of)}>
            {accept}
          </button>{' '}
          <span class="small muted">It stays off until then.</span>
        </div>
      ) : null}
      {now === undefined ? null : (
        <Evidence result="the digest and the whole declaration">
          <dl class="facts">
            {digest === undefined ? null : (
              <Fact term="Now" is={<Hash hex={digest} what="the digest" />} />
            )}
            <Fact term="Declaration" is={<Value of={now} />} />
          </dl>
        </Evidence>
      )}
    </section>
  );
}

/** The page shows the lines of a text as lines. */
const LINE_FEED = 'U+000A';

/** What the text hides. A hint, not a proof: a text can mislead without a hidden character. */
export function Hidden({ of: { now, name } }: { readonly of: ShownReview }) {
  const fields = hiddenFields({ ...now, name })
    .map(({ path, hidden }) => ({ path, hidden: hidden.filter(({ code }) => code !== LINE_FEED) }))
    .filter(({ hidden }) => hidden.length > 0);
  if (fields.length === 0) return null;
  const count = fields.reduce((sum, { hidden }) => sum + hidden.length, 0);
  return (
    <Notice state="warn">
      <p>
        <b>
          {count === 1
            ? 'Its text has 1 character that a reader does not see or mistakes.'
            : `Its text has ${count} characters that a reader does not see or mistakes.`}
        </b>
      </p>
      {fields.map(({ path, hidden }) => (
        <p key={path} class="small">
          <Shown text={partWords(path)} />:{' '}
          {hidden.map(({ code, name: what }) => `${code} ${what}`).join(', ')}
        </p>
      ))}
    </Notice>
  );
}

function Claims({ of }: { readonly of: object }) {
  const { description = '' } = of as { description?: unknown };
  return (
    <dl class="facts">
      <Fact term="Takes" is={<Shown text={inputWords(of)} />} />
      <Fact term="It says">
        <q>
          <Lines of={String(description)} />
        </q>{' '}
        <small>written by the server, not checked</small>
      </Fact>
    </dl>
  );
}

type Part = ShownReview['parts'][number];

function Difference({ of: { part, before, now } }: { readonly of: Part }) {
  const spans = wordDiff(before, now);
  const words = partWords(part);
  return (
    <figure class="frame">
      <figcaption>
        <b>
          <Shown text={words} />
        </b>{' '}
        {words === part ? null : <Code text={part} />}
      </figcaption>
      <table class="diff words">
        <caption class="vh">
          <Shown text={words} />, reviewed and now
        </caption>
        <Columns />
        <tbody>
          <tr class="cut">
            <th scope="row">before</th>
            <td>
              <span aria-hidden="true">−</span>
            </td>
            <td>
              <del>{before === '' ? <i>absent</i> : <Spans of={spans.before} />}</del>
            </td>
          </tr>
          <tr class="new">
            <th scope="row">now</th>
            <td>
              <span aria-hidden="true">+</span>
            </td>
            <td>
              <ins>{now === '' ? <i>absent</i> : <Spans of={spans.now} />}</ins>
            </td>
          </tr>
        </tbody>
      </table>
    </figure>
  );
}

/** A new tool has nothing to compare with: every text of it, whole. */
function Everything({ of }: { readonly of: readonly Part[] }) {
  return (
    <figure class="frame">
      <figcaption>
        <b>All that it declares</b>{' '}
        <small>{counted(of.length, 'part')}, nothing to compare with</small>
      </figcaption>
      <table class="diff all">
        <caption class="vh">Every part of the new tool</caption>
        <Columns />
        <tbody>
          {of.map(({ part, now }) => (
            <tr key={part} class="new">
              <th scope="row">
                <Shown text={partWords(part)} />
              </th>
              <td>
                <span aria-hidden="true">+</span>
              </td>
              <td>
                <ins>
                  <Lines of={now} />
                </ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function Columns() {
  return (
    <thead class="vh">
      <tr>
        <th scope="col">Part</th>
        <th scope="col">Change</th>
        <th scope="col">Text</th>
      </tr>
    </thead>
  );
}

function Spans({ of }: { readonly of: readonly Span[] }) {
  return (
    <>
      {of.map(({ text, isChanged }, at) =>
        isChanged ? (
          <mark key={at}>
            <Lines of={text} />
          </mark>
        ) : (
          <Lines key={at} of={text} />
        ),
      )}
    </>
  );
}

/** The lines of a text stay lines; any other hidden character is marked. */
function Lines({ of }: { readonly of: string }) {
  return (
    <>
      {of.split('\n').map((line, at) => (
        <span key={at}>
          {at > 0 ? '\n' : null}
          <Shown text={line} />
        </span>
      ))}
    </>
  );
}
