package sessiontool

import (
	"context"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

const gatewaySchema = `{
 "type":"object","additionalProperties":false,"required":["action"],
 "properties":{
  "action":{"type":"string","enum":["status","reload"],"description":"status: what runs, accounts and load. reload: read the configuration anew and put it in force."}
 }}`

// gatewayTool is gateway. A reload that a crash interrupted may be done again:
// what is in force already changes nothing.
type gatewayTool struct {
	t    *Tools
	args *tool.Arguments
}

func newGateway(t *Tools) gatewayTool { return gatewayTool{t, tool.MustArguments(gatewaySchema)} }

// Spec implements core.Tool.
func (g gatewayTool) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name: "gateway", Description: "Show the gateway, or have it read its configuration anew. Only where an owner of the installation asks for it.",
		Schema: g.args.Schema(), Idempotent: true, Serial: true,
	}
}

// Invoke implements core.Tool.
func (g gatewayTool) Invoke(ctx context.Context, scope core.ToolScope, call core.ToolCall) (core.ToolResult, error) {
	var p struct {
		Action string `json:"action"`
	}
	if err := g.args.Read(call.Args, &p); err != nil {
		return refused(err)
	}
	if err := g.owner(ctx, scope); err != nil {
		return refused(err)
	}
	do := g.t.Gateway.Status
	if p.Action == "reload" {
		do = g.t.Gateway.Reload
	}
	shown, err := do(ctx)
	if err != nil {
		return refused(err)
	}
	return core.ToolResult{Text: encode(shown)}, nil
}

// owner refuses turns in which anybody but owners has a say: those of other
// people, those that somebody else's message joined, and those that work for a
// run, whoever is behind it.
func (g gatewayTool) owner(ctx context.Context, scope core.ToolScope) error {
	var owners bool
	err := g.t.DB.Read(ctx, func(tx *store.Tx) error {
		turn, err := tx.TurnByID(scope.Turn)
		if err != nil {
			return err
		}
		owners = turn.Run == "" && turn.Kind == store.InboxMessage && g.t.Config.Owner(turn.Owner)
		rows, err := tx.RowsOfTurn(store.Session{ID: turn.Session, Generation: turn.Generation}, turn.ID)
		for _, r := range rows {
			owners = owners && (r.Owner == "" || g.t.Config.Owner(r.Owner))
		}
		return err
	})
	if err != nil || owners {
		return err
	}
	return core.Errorf("owner_only", "only a message of an owner may have this done (commands.ownerAllowFrom)").
		WithRemedy("an owner asks for it; a change of the configuration file is followed by itself")
}
