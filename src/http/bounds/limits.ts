/**
 * Bounds of the HTTP surface, each with its reason.
 *
 * @module
 */

/** All headers of a request together. A token fits; a longer header is not one that we use. */
export const HEADER_BYTES_MAX = 8 * 1_024;

/** A client that needs longer to send its headers wastes a socket. */
export const HEADERS_TIMEOUT_MS = 10_000;

/** Whole request, body included: 256 KiB over a slow line. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** How late a timeout may be noticed; Node's default is twice a minute. */
export const TIMEOUT_CHECK_MS = 1_000;

/** Longer than the idle time of common load balancers (60 s), so that they close first. */
export const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** A connection is renewed now and then, so that load spreads over new replicas. */
export const REQUESTS_PER_SOCKET_MAX = 10_000;

/** Requests in flight on one connection. Further pipelined requests wait. */
export const IN_FLIGHT_MAX = 16;

/** Bytes that one client may leave unread before its next request is taken: the largest page of the log. */
export const UNREAD_BYTES_MAX = 1_048_576;

/** Requests that were parsed and wait, on all connections: some 4 KiB each, so about 16 MiB. */
export const WAITING_MAX = 4_096;

/** Bytes that all connections together may make the service hold. The largest ones are ended first. */
export const HELD_BYTES_MAX = 64 * 1_048_576;

/** Bytes of a body before the credential of its sender is judged. Most requests are shorter. */
export const STRANGER_BODY_BYTES_MAX = 16 * 1_024;

/** Bytes of all bodies whose sender is not known yet: a thousand of the longest. The oldest are ended first. */
export const STRANGER_BYTES_MAX = 16 * 1_048_576;

/** A client that reads nothing for this long is not reading. */
export const STALL_MS = 30_000;

/** A connection closes with the first answer after this time, and is cut after twice this time. */
export const LIFETIME_MS = 3_600_000;

/** Path parameters are names and ids; the longest is a capability's name. */
export const PATH_PARAMETER_LENGTH_MAX = 512;

/** Requests in work at once. Each may hold a body and a place in the store's queue. */
export const REQUESTS_IN_WORK_MAX = 2_000;

/** At this event loop delay, new work only makes all callers wait longer. */
export const LOOP_DELAY_MAX_MS = 1_000;

/**
 * Consecutive samples above that, half a second apart, before work is refused: one stall is not an overload.
 */
export const LATE_SAMPLES_MIN = 4;

/**
 * Requests in work before a late event loop refuses others. Fewer do not cause a long delay: a starved
 * machine or one handler does, and refusing a caller changes neither.
 */
export const QUEUED_WORK_MIN = 16;

/** How long a refused caller should wait. */
export const RETRY_AFTER_SECONDS = 1;

/** After the port has closed, the service does not wait longer for a request to arrive. */
export const STOP_ARRIVAL_MS = 500;

/** How often idle connections are closed while the service stops. */
export const STOP_POLL_MS = 50;

/** For a request that was sent before its client could see the stop; an idle stop waits as long. */
export const STOP_PAUSE_MS = 250;

/**
 * Pipelined requests that begin in one turn of the event loop, on all connections. Each takes up to some
 * hundred microseconds, and callers that send one request at a time wait for them.
 */
export const PIPELINED_PER_TURN = 4;

/**
 * Data of an unknown client is parsed in slices of this many bytes: about a dozen of the smallest requests. A
 * request of the usual size takes a few slices.
 */
export const SLICE_BYTES = 512;

/** The same for a network that sends one request at a time, and in a body that is at least as long. */
export const ORDERLY_SLICE_BYTES = 8_192;

/** After this many requests without a wait, a network counts as sending one at a time. */
export const ORDERLY_REQUESTS = 16;

/** How long the behaviour of a network is remembered. */
export const MANNERS_MS = 600_000;

/** Networks that are remembered, at about 100 bytes each. */
export const NETWORKS_MAX = 10_000;
