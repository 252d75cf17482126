/**
 * Capabilities: the catalog with a search by name, how the capabilities relate, and one page for each.
 *
 * @module
 */

import '../style/capabilities.css';
import { ask } from '../api.ts';
import { Ready, useLoaded } from '../parts/loaded.tsx';
import { route } from '../router.ts';
import { Catalog } from './capabilities/catalog.tsx';
import { CapabilityPage } from './capabilities/one.tsx';

export function CapabilitiesView() {
  const { id, query } = route.value;
  const loaded = useLoaded(() => ask('manifest', {}), []);
  if (loaded.state !== 'ready') {
    return (
      <>
        <h1>Capabilities</h1>
        <Ready of={loaded} what="The catalog">
          {() => null}
        </Ready>
      </>
    );
  }
  const { capabilities } = loaded.value;
  if (id === undefined) return <Catalog of={capabilities} query={query} />;
  return <CapabilityPage key={id} name={id} catalog={capabilities} />;
}
