// Package metrics counts what a Junction process does, for Prometheus (R41), on a
// registry of its own. Nothing here is global.
//
// # Names
//
// Durations are in seconds. A counter ends in _total; a histogram (h) brings
// _bucket, _sum and _count; the rest are gauges (g).
//
//	mcp_handshake_duration_seconds                       h  connecting a server and reading its tools, failed or not
//	mcp_handshake_total{status}                             success, failure
//	mcp_server_health_score{server_name}                 g  by the score in force, [0, 1]; the lowest of its capabilities; 0 while ejected
//	mcp_server_error_total{server_name,error_code}          failed attempts, by one of the 12 codes
//	langgraph_node_execution_duration_seconds{node}      h  one run of a node; node="server_router" is one routing decision
//	langgraph_checkpoint_duration_seconds                h  one superstep's commit in the store
//
//	mcp_server_calls_total{server_name,status}              ended attempts: success, timeout, error, rejected, cancelled, waiting
//	mcp_server_call_duration_seconds{server_name}        h  of ended attempts
//	mcp_server_tool_errors_total{server_name}               results that were the tool's own error
//	mcp_server_calls_in_flight{server_name}              g  of this worker
//	mcp_server_picks_total{server_name}                     routing decisions that it won
//	mcp_server_ejected{server_name}                      g  1 while it is left alone after failures
//	mcp_server_probes_total{server_name,result}             success, failure
//	mcp_server_connections{state}                        g  servers by where their connection stands: connecting, ready, lost, waiting
//	mcp_server_drift_total{server_name,same_version}        capability documents that changed: true, false
//	mcp_server_held_back_total{server_name}                 tools found not to be as approved
//	mcp_server_strays_total{server_name,kind}               messages that belonged to no request, dropped
//	mcp_server_resubscriptions_total{server_name}           subscriptions that ended and were made anew
//
//	junction_hop_duration_seconds                        h  one hop, from its call to its answer, attempts and waits included
//	junction_hops_total{outcome}                            result, tool_error, replayed, no_candidate, attempts, rejected, budget,
//	                                                        deadline, unknown, contract, question, draining, cancelled, store, other
//	junction_hop_attempts_total                             requests made
//	junction_hop_retries_total                              of them, those after a hop's first
//	junction_retry_budget_exhausted_total                   hops that ended for want of a retry
//	junction_duplicates_suppressed_total{kind}              late_answer, duplicate_answer, wrong_id (dropped answers), replayed (recorded results)
//
//	junction_store_operation_duration_seconds{operation} h  acquire, commit, put_records, put_writes, claim, …
//	junction_store_errors_total{operation,kind}             lease_lost, regressed, vanished, conflict, busy, not_found, exists,
//	                                                        answered, unavailable, cancelled, deadline, other
//	junction_fenced_writes_total                            writes that the store refused a worker without the lease
//	junction_queue_depth{state}                          g  due, later (in a turn, or due later); asked at a scrape, for 5 s the same
//	junction_threads_running                             g
//	junction_threads_total{status}                          runs that ended: completed, interrupted, failed, cancelled, pending, running
//	junction_worker_events_total{kind}                      taken, ended, busy, dropped, hand_back, left, gone, trouble
//	junction_supersteps_total                               committed ones
//	junction_node_retries_total{node}
//	junction_build_info{version,goversion}               g  1
//
// A hop in a node of its own pays about 1 µs for all this, and allocates nothing.
//
// Beside these stand go_… and process_… of the Go runtime, and promhttp_….
//
// The example servers (junction example-server --http) count their own side under
// mcp_handshake_…, mcp_server_calls_total, mcp_server_call_duration_seconds and
// mcp_server_calls_in_flight of these, with their own name as server_name.
//
// # Values of labels
//
// They are bounded: server_name and node are the first 500 and 200 that come, then
// "other", where a server that nothing is heard of for an hour makes room; codes, outcomes and operations are from fixed lists. Text from outside
// loses what is not printable and what is over 100 bytes. No argument, result,
// message, address, thread or session ever becomes one.
package metrics
