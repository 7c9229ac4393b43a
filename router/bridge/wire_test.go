package bridge

import "junction/router/mcp"

var _ Session = (*mcp.Wire)(nil)
