package sessiontool

import (
	"encoding/json"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
)

// runtimeName is the one runtime of agents.
const runtimeName = "subagent"

type agentsListed struct {
	Requester string     `json:"requester"`
	AllowAny  bool       `json:"allowAny"`
	Agents    []agentRow `json:"agents"`
}

type agentRow struct {
	ID         string       `json:"id"`
	Name       string       `json:"name,omitempty"`
	Configured bool         `json:"configured"`
	Model      string       `json:"model"`
	Runtime    agentRuntime `json:"agentRuntime"`
}

type agentRuntime struct {
	ID     string `json:"id"`
	Source string `json:"source"`
}

func (t *Tools) agents() look {
	args := tool.MustArguments(`{"type":"object","additionalProperties":false,"properties":{}}`)
	return look{
		name:        "agents_list",
		description: "List the agents that you may start with sessions_spawn (its agentId), yourself first, each with the model that it would get.",
		args:        args, t: t,
		call: func(tx *store.Tx, scope core.ToolScope, raw json.RawMessage) (any, error) {
			if err := args.Read(raw, &struct{}{}); err != nil {
				return nil, err
			}
			self, err := tx.SessionByID(scope.Session)
			if err != nil {
				return nil, err
			}
			agents, anyAgent := t.Runs.Spawnable(scope.Agent, self.Model)
			out := agentsListed{Requester: scope.Agent, AllowAny: anyAgent, Agents: []agentRow{}}
			for _, a := range agents {
				out.Agents = append(out.Agents, agentRow{a.ID, t.Config.Name(a.ID), true, a.Model, agentRuntime{runtimeName, "default"}})
			}
			return out, nil
		},
	}
}
