package policy_test

import (
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
)

func ExampleDecide() {
	settings := policy.Settings{
		DMPolicy: policy.DMAllowlist, AllowFrom: []string{"42"},
		Groups: map[string]policy.Group{"-100": {Topics: map[string]policy.Place{"7": {AllowFrom: []string{"*"}}}}},
	}
	in := policy.Request{
		Author: core.Author{ID: "1"}, Kind: core.Group, Event: core.EventMessage, Mentioned: true, Settings: settings,
		Address: core.Address{Channel: "telegram", Account: "default", Conversation: "-100"},
	}
	fmt.Println(policy.Decide(in))
	in.Address.Thread = "7"
	fmt.Println(policy.Decide(in))
	// Output:
	// deny: sender-not-listed (allowFrom)
	// allow: sender-listed (groups["-100"].topics["7"].allowFrom)
}

func ExampleToolPolicy_Apply() {
	tools := []policy.Tool{{Name: "read"}, {Name: "exec"}, {Name: "message"}, {Name: "browser"}}
	set := policy.ToolPolicy{
		Profile:   policy.ProfileCoding,
		AlsoAllow: []string{"message"},
		Agent:     policy.Rules{Deny: []string{"exec*"}},
		Subagent:  &policy.SubagentPolicy{Leaf: true},
	}.Apply(tools)
	fmt.Println(set.Allowed)
	for _, r := range set.Removed {
		fmt.Println(r)
	}
	// Output:
	// [read]
	// exec: removed by agent (deny exec*)
	// message: removed by sub-agent (never for sub-agents)
	// browser: removed by profile (not in profile coding)
}
