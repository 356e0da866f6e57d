package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

const routedConfig = `{
  models: { providers: { m: { type: "scripted" } } },
  agents: { defaults: { model: "m/m" }, entries: { main: { default: true }, sales: {}, desk: {} } },
  routes: [
    { agentId: "sales", match: { channel: "console", accountId: "*", peer: { kind: "group", id: "shop" } } },
    { agentId: "desk", match: { channel: "console", peer: { kind: "direct", id: "bob" } } },
  ],
  channels: { console: {
    groupPolicy: "allowlist", groupAllowFrom: ["alice"],
    accounts: { default: { groups: { shop: { requireMention: false }, office: { agentId: "desk", topics: { t1: { agentId: "sales" } } } } }, second: {} },
  } },
}`

func TestExplain(t *testing.T) {
	cfg, _, err := config.Parse("<test>", []byte(routedConfig), config.Options{})
	require.NoError(t, err)
	one := 1
	zero := 0
	for _, c := range []struct {
		name string
		q    app.RouteQuery
		want app.RouteView
	}{
		{
			"nobody's chat goes to the default agent", app.RouteQuery{Account: "default", Kind: core.Direct, Peer: "local"},
			app.RouteView{Agent: "main", By: "default", Tier: "default", Session: "agent:main:console:direct:local", Access: "allow"},
		},
		{
			"a person's own rule", app.RouteQuery{Account: "default", Kind: core.Direct, Peer: "bob", Thread: "t9"},
			app.RouteView{Agent: "desk", By: "route", Tier: "peer", Rule: &one, Session: "agent:desk:console:direct:bob:thread:t9", Access: "allow"},
		},
		{
			"a group's rule, for every account", app.RouteQuery{Account: "second", Kind: core.Group, Peer: "shop", Sender: "alice"},
			app.RouteView{Agent: "sales", By: "route", Tier: "peer", Rule: &zero, Session: "agent:sales:console:second:group:shop", Access: "deny", RequireMention: true},
		},
		{
			"a listed sender", app.RouteQuery{Account: "default", Kind: core.Group, Peer: "shop", Sender: "alice"},
			app.RouteView{Agent: "sales", By: "route", Tier: "peer", Rule: &zero, Session: "agent:sales:console:default:group:shop", Access: "allow"},
		},
		{
			"a sender that no list names", app.RouteQuery{Account: "default", Kind: core.Group, Peer: "shop"},
			app.RouteView{Agent: "sales", By: "route", Tier: "peer", Rule: &zero, Session: "agent:sales:console:default:group:shop", Access: "deny"},
		},
		{
			"the group's own agent", app.RouteQuery{Account: "default", Kind: core.Group, Peer: "office", Sender: "alice"},
			app.RouteView{Agent: "desk", By: "place", Tier: "agentId of the place", Session: "agent:desk:console:default:group:office", Access: "allow", RequireMention: true},
		},
		{
			"the topic's own agent", app.RouteQuery{Account: "default", Kind: core.Group, Peer: "office", Thread: "t1", Sender: "alice"},
			app.RouteView{Agent: "sales", By: "place", Tier: "agentId of the place", Session: "agent:sales:console:default:group:office:thread:t1", Access: "allow", RequireMention: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Channel = "console"
			view := app.Explain(cfg, c.q)
			require.NotEmpty(t, view.AccessReason)
			if c.want.By == "place" {
				require.Empty(t, view.Steps)
			} else {
				require.NotEmpty(t, view.Steps)
			}
			view.AccessReason, view.AccessRule, view.Steps = "", "", nil
			require.Equal(t, c.want, view)
			_, err := json.Marshal(view)
			require.NoError(t, err)
		})
	}
}
