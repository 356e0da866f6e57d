package app

import (
	"time"

	"github.com/skein-bot/skein/core/sessiontool"
)

// sessionTools are the built-in tools that look at sessions and speak to them.
func (a *App) sessionTools() *sessiontool.Tools {
	return sessiontool.New(sessiontool.Options{World: a.world, DB: a.db, Config: sessionToolConfig{a}, Runs: a.engine})
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
