package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/state/ledger"
	"junction/state/ledger/mcptool"
	"junction/state/ledger/sqlite"
)

// resource names the record of an article, for who wants to be told of changes.
const resource = "inventory://stock/"

// payments are what a deposit is paid with: accepted, and kept nowhere. It is no
// part of what a key stands for either, for its fingerprint could be guessed.
const payments = "payment"

// Tools are the tools of a server over the stock.
func Tools(s *Stock) ([]mcpserver.ServerTool, error) {
	once, err := mcptool.New(s.ledger, &mcptool.Options{
		Key: mcptool.DefaultArgument, Ignore: []string{payments}, Secrets: []string{payments + ".*"},
	})
	if err != nil {
		return nil, err
	}
	return []mcpserver.ServerTool{
		{Tool: reserveTool(), Handler: once.Handle(s.reserve)},
		{Tool: getTool(), Handler: s.get},
		{Tool: findTool(), Handler: s.find},
	}, nil
}

// Hooks are to be given to the server that has the tools.
func Hooks(s *Stock) *mcpserver.Hooks {
	h := &mcpserver.Hooks{}
	h.AddBeforeSubscriptionsListen(s.watchers.began)
	return h
}

// Equip adds to a server what clients can watch of the stock.
func Equip(m *mcpserver.MCPServer, s *Stock) {
	t := mcp.NewResourceTemplate(resource+"{sku}", "stock", mcp.WithTemplateMIMEType("application/json"),
		mcp.WithTemplateDescription("The record of one article, as get_inventory tells it."))
	m.AddResourceTemplate(t, func(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		sku, err := skuOf(r.Params.URI)
		if err != nil {
			return nil, err
		}
		item, err := s.Item(ctx, sku)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(item)
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}, err
	})
}

// reservation is what reserve_inventory answers.
type reservation struct {
	ID string `json:"reservation"`
	Order
	Free    int64          `json:"free"` // left at that time
	Payment map[string]any `json:"payment,omitempty"`
}

func (s *Stock) reserve(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Order
		Payment map[string]any `json:"payment"`
	}
	if err := r.BindArguments(&in); err != nil {
		return mcp.NewToolResultError("arguments: " + err.Error()), nil //nolint:nilerr // the caller's fault is the tool's answer
	}
	if in.SKU == "" || in.Tenant == "" || in.Operation == "" || in.Quantity < 1 {
		return mcp.NewToolResultError("arguments: sku, tenant and operation are needed, and a quantity from 1"), nil
	}
	run, _ := mcptool.RunOf(ctx)
	free, err := reserve(ctx, sqlite.Tx(ctx), run.Receipt, in.Order)
	if short := (*ShortError)(nil); errors.As(err, &short) || errors.Is(err, ErrNoSuchItem) {
		return mcp.NewToolResultError(err.Error()), nil // final under this key
	}
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructuredOnly(reservation{ID: run.Receipt, Order: in.Order, Free: free, Payment: in.Payment}), nil
}

func (s *Stock) get(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	item, err := s.Item(ctx, r.GetString("sku", ""))
	if errors.Is(err, ErrNoSuchItem) {
		return mcp.NewToolResultError(err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultStructuredOnly(item), nil
}

// found is what find_reservation answers; the form is what a router's verify reads.
type found struct {
	Happened bool            `json:"happened"`
	Result   json.RawMessage `json:"result,omitempty"` // what reserve_inventory answered
}

func (s *Stock) find(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	e, err := s.ledger.Find(ctx, r.GetString(mcptool.DefaultArgument, ""))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return mcp.NewToolResultStructuredOnly(found{}), nil
	case errors.Is(err, ledger.ErrNoKey):
		return mcp.NewToolResultError(err.Error()), nil
	case err != nil:
		return nil, err
	}
	var stored struct {
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(e.Result, &stored); err != nil {
		return nil, fmt.Errorf("what is stored under the key: %w", err)
	}
	if stored.IsError {
		return mcp.NewToolResultStructuredOnly(found{}), nil // refused: nothing was reserved
	}
	return mcp.NewToolResultStructuredOnly(found{true, stored.Structured}), nil
}
