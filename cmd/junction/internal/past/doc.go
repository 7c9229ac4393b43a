// Package past makes a scenario of the routing lab from recorded calls: when they
// arrived, and how long each server took and how often it failed, minute by minute. So
// an operator sees what another way of choosing would have done, and what of that the
// records cannot tell ([Past].Unknown).
package past
