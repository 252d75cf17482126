/**
 * One capability: its declaration in words and exactly, its neighbours, and a dry run.
 *
 * @module
 */

import { costWords, titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { Capability, Input } from '../../../protocol/capability.ts';
import { ask } from '../../api.ts';
import { Effect, Fact, Heads, Shown } from '../../parts/elements.tsx';
import { Ready, useLoaded } from '../../parts/loaded.tsx';
import { Evidence, Fold } from '../../parts/panels.tsx';
import { useTitle } from '../../parts/title.ts';
import { Value } from '../../parts/words.tsx';
import { hrefOf } from '../../router.ts';
import type { Declarations } from '../agents/details.tsx';
import { Relations } from './graph.tsx';
import { TryIt } from './try.tsx';
import { approvalSentences, rulesOf } from './words.ts';

interface PageProps {
  readonly name: string;
  readonly catalog: Declarations;
}

export function CapabilityPage({ name, catalog }: PageProps) {
  const declaration = Object.hasOwn(catalog, name) ? catalog[name] : undefined;
  useTitle(declaration ? `${titleOf(name)} · Capabilities` : 'No such capability');
  return declaration ? <Declared of={{ ...declaration, name }} /> : <Unknown name={name} />;
}

function Unknown({ name }: { readonly name: string }) {
  return (
    <>
      <h1>No such capability</h1>
      <p>
        This service declares no capability <Shown text={name} />. The catalog lists those it has.
      </p>
    </>
  );
}

function Declared({ of }: { readonly of: Capability }) {
  return (
    <>
      <h1>{titleOf(of.name)}</h1>
      <p class="lead">
        <Shown text={of.description} />
      </p>
      <Facts of={of} />
      <div class="cols">
        <div>
          <Rules of={of} />
          <Inputs of={of.inputs} />
        </div>
        <div class="panel">
          <TryIt capability={of} />
        </div>
      </div>
      <Neighbours name={of.name} />
      <Evidence
        result={`the declaration as the service publishes it, version ${of.contract_version}`}
      >
        <Value of={exactForm(of)} />
      </Evidence>
    </>
  );
}

function exactForm({ name, ...declaration }: Capability) {
  return { [name]: declaration };
}

function Facts({ of }: { readonly of: Capability }) {
  const { name, side_effect, cost, minimum_scope, kind } = of;
  const { compensation } = side_effect;
  return (
    <dl class={side_effect.type === 'irreversible' ? 'facts brief final' : 'facts brief'}>
      <Fact term="Name" is={<code>{name}</code>} />
      <Fact term="Effect">
        <Effect of={side_effect} />
        {compensation === undefined ? null : ', by '}
        {compensation === undefined ? null : (
          <a href={hrefOf('capabilities', compensation)}>{compensation}</a>
        )}
      </Fact>
      <Fact term="Cost">
        {costWords(cost)}{' '}
        {cost?.determined_by === undefined ? null : (
          <small>
            determined by <Shown text={cost.determined_by} />
          </small>
        )}
      </Fact>
      <Fact term="Needs">
        {minimum_scope.length === 0 ? 'none' : <code>{minimum_scope.join(', ')}</code>}
      </Fact>
      {kind === 'composed' ? (
        <Fact
          term="Steps"
          is={<code>{of.composition?.steps.map((step) => step.capability).join(' → ')}</code>}
        />
      ) : null}
    </dl>
  );
}

function Rules({ of }: { readonly of: Capability }) {
  const rules = [...(of.approval ? approvalSentences(of.approval) : []), ...rulesOf(of)];
  return (
    <section aria-labelledby="h-rules">
      <h2 id="h-rules">Rules</h2>
      {rules.length === 0 ? (
        <p>A token with the scopes above may use it. No approval is needed.</p>
      ) : (
        <ul class="stack">
          {rules.map((rule) => (
            <li key={rule}>
              <Shown text={rule} />.
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Inputs({ of }: { readonly of: readonly Input[] }) {
  return (
    <section aria-labelledby="h-inputs">
      <h2 id="h-inputs">Inputs</h2>
      {of.length === 0 ? (
        <p>It takes no inputs.</p>
      ) : (
        <table class="inputs">
          <Heads of={['Name', 'What it is']} />
          <tbody>
            {of.map((input) => (
              <tr key={input.name}>
                <th scope="row">{input.name}</th>
                <td>
                  <InputWords of={input} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function InputWords({ of }: { readonly of: Input }) {
  const { type, required, description, allowed_values, default: fallback, resolution } = of;
  return (
    <>
      {type}, {required ? 'required' : 'can be left out'}
      {description === undefined ? null : ': '}
      {description === undefined ? null : <Shown text={description} />}
      {allowed_values === undefined ? null : (
        <p class="small">
          One of <Shown text={allowed_values.map((each) => JSON.stringify(each)).join(', ')} />
        </p>
      )}
      {fallback === undefined ? null : (
        <p class="small">
          Left out, it is <Shown text={JSON.stringify(fallback)} />
        </p>
      )}
      {resolution?.mode === 'backend_resolved' ? (
        <p class="small">The service looks up what it names.</p>
      ) : null}
    </>
  );
}

function Neighbours({ name }: { readonly name: string }) {
  const loaded = useLoaded(() => ask('graph.get', { capability: name }), []);
  return (
    <div class="folds">
      <Fold title="Related capabilities">
        <Ready of={loaded} what="The graph" loading="the relations">
          {(graph) => <Relations of={graph} around={name} />}
        </Ready>
      </Fold>
    </div>
  );
}
