/**
 * How a call is answered: in one piece, or as a stream of events.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InvokeRequest } from '../../protocol/invocation.ts';
import { failure } from '../failure.ts';

/** The failure of a call that asks for a way of answering that the capability does not have. */
export function otherResponseMode(
  { name, response_modes: modes }: Capability,
  { stream }: InvokeRequest,
): Failure | undefined {
  if (modes.includes(stream ? 'streaming' : 'unary')) return undefined;
  return stream
    ? failure('streaming_not_supported', `Cannot stream "${name}": it answers in one piece`)
    : failure(
        'streaming_required',
        `Cannot answer "${name}" in one piece: ask with "stream": true`,
      );
}
