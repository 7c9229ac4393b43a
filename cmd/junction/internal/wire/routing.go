package wire

import (
	"junction/router"
	"junction/router/prometheus"
	"junction/router/static"
	"junction/state/redis"
)

// routing has the servers file's policies in force, and what other workers see where
// the store is a Redis that they share.
func (a *App) routing(config *static.Config, s Settings, routes *router.Options) error {
	routes.Log = s.Log
	if shared, ok := a.kept.(*redis.Store); ok && !s.Detach {
		routes.Fleet = &router.Fleet{Store: shared}
	}
	if config == nil {
		return nil
	}
	config.Routing.Apply(routes)
	if address := config.Routing.Prometheus; address != "" && !s.Detach {
		source, err := prometheus.New(address, nil)
		if err != nil {
			return &ConfigError{err}
		}
		routes.Rates = source
	}
	return nil
}
