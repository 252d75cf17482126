/**
 * Whose agents are shown: operators choose a root principal by its name.
 *
 * @module
 */

import { hrefOf } from '../../router.ts';

/** A form whose address has the answer, so that it can be linked and works without this page's script. */
export function ChooseRoot({ root }: { readonly root: string | undefined }) {
  return (
    <form method="get" action={hrefOf('agents')} class="row">
      <p class="field">
        <label for="root">Agents of another person or service</label>
        <input
          id="root"
          name="root_principal"
          required
          maxLength={300}
          placeholder="human:ann@example.com"
          value={root ?? ''}
          spellcheck={false}
          autocomplete="off"
        />
      </p>
      <button type="submit">Show their agents</button>
      {root === undefined ? null : <a href={hrefOf('agents')}>Show my own agents</a>}
    </form>
  );
}
