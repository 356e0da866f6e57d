package policy

import (
	"slices"
	"strings"
)

// Profile names a base set of tools (tools.profile).
type Profile string

// The profiles. The empty word is ProfileFull.
const (
	ProfileMinimal   Profile = "minimal"   // session_status
	ProfileCoding    Profile = "coding"    // files, exec, web, sessions, memory
	ProfileMessaging Profile = "messaging" // message, sessions
	ProfileFull      Profile = "full"      // everything
)

// members returns what a profile holds; all is set where it holds everything.
// A profile that this build does not know holds nothing.
func (p Profile) members() (entries []string, all bool) {
	switch p {
	case ProfileFull, "":
		return nil, true
	case ProfileMinimal:
		return []string{"session_status"}, false
	case ProfileCoding:
		return []string{"group:fs", "group:runtime", "group:web", "group:sessions", "group:memory"}, false
	case ProfileMessaging:
		return []string{"group:messaging", "group:sessions"}, false
	}
	return nil, false
}

// removes reports whether a tool is neither in the profile nor in what joins
// it.
func (p Profile) removes(t Tool, alsoAllow []string) bool {
	entries, all := p.members()
	if all || t.Granted {
		return false
	}
	_, ok := find(entries, t)
	return !ok && !allows(alsoAllow, t)
}

// GrantedTools are the built-in tools that an agent has because of what it was
// given: agents, skills or knowledge (Tool.Granted).
func GrantedTools() []string { return []string{"delegate", "knowledge_search", "load_skill"} }

// groupPrefix introduces a group in a list of tools.
const groupPrefix = "group:"

// pluginGroup holds the tools of plugins, which have no fixed names.
const pluginGroup = "plugins"

// GroupNames returns the groups that lists may name as "group:<name>", sorted.
func GroupNames() []string {
	return []string{"agents", "automation", "fs", "memory", "messaging", pluginGroup, "runtime", "sessions", "ui", "web"}
}

// GroupTools returns the tools of a group, nil for an unknown one. The group
// "plugins" holds every tool of a plugin, and none by name.
func GroupTools(group string) []string {
	switch group {
	case "agents":
		return []string{"agents_list"}
	case "automation":
		return []string{"cron", "gateway"}
	case "fs":
		return []string{"read", "write", "edit", "apply_patch"}
	case "memory":
		return []string{"memory_search", "memory_get"}
	case "messaging":
		return []string{"message"}
	case "runtime":
		return []string{"exec", "process"}
	case "sessions":
		return []string{
			"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield", "subagents", "session_status",
		}
	case "ui":
		return []string{"browser"}
	case "web":
		return []string{"web_search", "web_fetch"}
	}
	return nil
}

// inGroup reports whether the group holds the tool, by its name or an alias.
func inGroup(group string, t Tool) bool {
	if group == pluginGroup {
		return t.Plugin
	}
	members := GroupTools(group)
	return slices.Contains(members, strings.ToLower(t.Name)) ||
		slices.ContainsFunc(t.Aliases, func(alias string) bool { return slices.Contains(members, strings.ToLower(alias)) })
}
