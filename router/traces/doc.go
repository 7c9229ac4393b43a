// Package traces tells what Junction does as spans of OpenTelemetry, which leave by
// OTLP over HTTP. It is off unless the environment names an endpoint ([FromEnv]).
//
// All that is done for a thread is one trace, whoever does it and whenever: its id
// follows from the thread's ([router.TraceID]), so a run that was resumed elsewhere
// joins it. The span of an attempt has the very id that the router sends to the
// server as traceparent in _meta, so that what the server does becomes part of it.
// Other spans have random ids, for a superstep may be run twice.
//
//	run → superstep → node → hop → attempt → what the server says
//
// A span tells names, numbers and codes. It never holds an argument, a result, a
// message of a server, an address or a credential.
package traces
