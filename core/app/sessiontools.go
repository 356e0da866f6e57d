package app

import (
	"context"
	"slices"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/sessiontool"
	"github.com/skein-bot/skein/core/store"
)

// sessionTools are the built-in tools that look at sessions and speak to them.
func (a *App) sessionTools() *sessiontool.Tools {
	return sessiontool.New(sessiontool.Options{
		World: a.world, DB: a.db, Config: sessionToolConfig{a}, Runs: a.engine, Poster: a.delivery, Gateway: gatewayTool{a},
	})
}

// sessionToolConfig answers the session tools.
type sessionToolConfig struct{ a *App }

var _ sessiontool.Config = sessionToolConfig{}

func (c sessionToolConfig) Visibility() sessiontool.Visibility {
	return sessiontool.Visibility(c.a.live().cfg.Tools.Sessions.Visibility)
}

func (c sessionToolConfig) Name(id string) string {
	set, _ := c.a.live().cfg.Agent(id)
	return set.Name
}

func (c sessionToolConfig) Model(id string) string { return c.a.live().agents[id].Model }

func (c sessionToolConfig) Thinking(id string) string { return c.a.live().agents[id].Thinking }

func (c sessionToolConfig) Zone(id string) *time.Location { return c.a.zone(id) }

func (c sessionToolConfig) HasAccount(channel, account string) bool {
	return c.a.adapter(channel, account) != nil
}

func (c sessionToolConfig) Owner(person string) bool {
	return policy.IsOwner(person, c.a.live().cfg.Commands.OwnerAllowFrom)
}

// Named implements sessiontool.Config. A place that is somebody's direct chat is
// named by that person, also among the owners; every other one as a group.
func (c sessionToolConfig) Named(tx *store.Tx, to core.Address) (policy.Decision, error) {
	settings := c.a.live().access(to.Channel, to.Account)
	people, err := tx.PeopleAt(to)
	if err != nil || len(people) == 0 {
		return settings.NamedAt(to), err
	}
	owners := slices.DeleteFunc(slices.Clone(c.a.live().cfg.Commands.OwnerAllowFrom), func(entry string) bool { return entry == "*" })
	var d policy.Decision
	for _, person := range people {
		if d = settings.NamedDirect(to.Channel, person); d.Allowed() {
			return d, nil
		}
		if policy.IsOwner(to.Channel+":"+person, owners) && d.Rule != "dmPolicy" {
			return policy.Decision{Outcome: policy.Allow, Reason: policy.ReasonSenderListed, Rule: "commands.ownerAllowFrom"}, nil
		}
	}
	return d, nil
}

// gatewayTool is what the tool gateway shows and does.
type gatewayTool struct{ a *App }

// Status implements sessiontool.Gateway.
func (g gatewayTool) Status(ctx context.Context) (any, error) {
	var view StatusView
	err := g.a.db.Read(ctx, func(tx *store.Tx) (err error) {
		view, err = Views{Config: g.a.Config(), Now: g.a.world.Now()}.Status(tx)
		return err
	})
	if err == nil {
		g.a.running(&view)
	}
	return view, err
}

// Reload implements sessiontool.Gateway.
func (g gatewayTool) Reload(ctx context.Context) (any, error) {
	done, err := g.a.ReloadFile(ctx)
	return reloadView(done), err
}
