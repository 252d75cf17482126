/**
 * The evidence of the call itself: the preview of the service, all parameters, and the agent's own words.
 *
 * @module
 */

import type { Decision } from '../../../protocol/console/views.ts';
import type { JsonObject } from '../../../protocol/primitives.ts';
import { now } from '../../live.ts';
import { namesOf } from '../../parts/hidden.ts';
import { Empty } from '../../parts/loaded.tsx';
import { personOf } from '../../parts/name.tsx';
import { Shown } from '../../parts/shown.tsx';
import { shortOf } from '../../parts/time.tsx';
import { countOf, Formatted, moneyIn, Parameters, Value } from '../../parts/value.tsx';
import { hiddenTexts, moneyInputs } from './claims.ts';
import { Part } from './part.tsx';
import { undoSentence } from './words.tsx';

export function Preview({ of }: { readonly of: Decision }) {
  const { request } = of;
  const { preview, preview_digest, created_at } = request;
  const isLost = preview === null && preview_digest !== null;
  return (
    <Part
      name="preview"
      title="What happens"
      aside={preview ? `Preview by the service, ${shortOf(created_at, now.value)}` : undefined}
      // Without the preview that the request names, the part is never complete.
      expects={{ selector: 'dt.field', count: isLost ? -1 : namesOf(preview ?? {}).length }}
    >
      {isLost ? <p class="bad">The preview did not load.</p> : null}
      {preview === null && !isLost ? (
        <Empty>The capability has no preview. The parameters below are all that it gets.</Empty>
      ) : null}
      <dl class="facts wide">
        {preview ? <Fields of={preview} /> : null}
        <dt>Undo</dt>
        <dd>{undoSentence(of)}</dd>
      </dl>
    </Part>
  );
}

function Fields({ of }: { readonly of: JsonObject }) {
  return (
    <>
      {namesOf(of).map((name) => (
        <>
          <dt class="field" key={name}>
            <Shown text={name} />
          </dt>
          <dd>
            <Field value={of[name]} />
          </dd>
        </>
      ))}
    </>
  );
}

/** Texts without quotes; everything else also as it is stored. */
function Field({ value }: { readonly value: unknown }) {
  if (typeof value === 'string') return <Shown text={value} />;
  const isFormatted = moneyIn(value, undefined) !== undefined || typeof value === 'boolean';
  return (
    <>
      {isFormatted ? <Formatted value={value} currency={undefined} /> : null}{' '}
      <span class={isFormatted ? 'muted' : undefined}>
        <Value of={value} />
      </span>
    </>
  );
}

export function AllParameters({ of }: { readonly of: Decision }) {
  const { request, capability } = of;
  const count = namesOf(request.parameters).length;
  return (
    <Part
      name="parameters"
      title={count === 1 ? 'The only parameter' : `All ${countOf(count, 'parameter')}`}
      aside={<code>{request.capability}</code>}
      expects={{ selector: 'tbody tr', count }}
    >
      {count === 0 ? (
        <Empty>The call has no parameters.</Empty>
      ) : (
        <Parameters
          of={request.parameters}
          inputs={capability?.inputs}
          money={moneyInputs(capability, request.parameters)}
        />
      )}
    </Part>
  );
}

/** The agent's words are in its own voice, so they cannot pass for those of the service. */
export function AgentsWords({ of: { request } }: { readonly of: Decision }) {
  const { note } = request;
  const agent = personOf(request.requester.subject);
  return (
    <Part
      name="words"
      title="The agent's words"
      expects={{ selector: 'blockquote', count: note ? 1 : 0 }}
    >
      {note ? (
        <figure class="says">
          <figcaption>
            <Shown text={agent} /> says <span class="muted">written by the agent, not checked</span>
          </figcaption>
          <blockquote>
            <Shown text={note} />
          </blockquote>
        </figure>
      ) : (
        <Empty>The agent wrote nothing for you.</Empty>
      )}
    </Part>
  );
}

/** One notice for all characters that a reader would not see or would mistake. */
export function HiddenNotice({ of }: { readonly of: Decision }) {
  const found = hiddenTexts(of);
  if (found.length === 0) return null;
  const count = found.reduce((sum, { hidden }) => sum + hidden.length, 0);
  return (
    <p class="notice warn">
      <b>
        {countOf(count, 'hidden character')} in{' '}
        {found.map(({ path }, at) => (
          <span key={at}>
            {at === 0 ? '' : ', '}
            <code>
              <Shown text={path} />
            </code>
          </span>
        ))}
      </b>
      . Text with such characters can look like other text.{' '}
      <a href={`#${found[0]?.where}`}>See the exact value</a>
    </p>
  );
}
