package subagent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/worktree"
)

// visibleOnly are the parameters that only a visible session has, and
// notVisible those that it does not have.
var (
	visibleOnly = []string{"group", "worktree", "worktreeName", "worktreeBaseRef"}
	notVisible  = []string{"thread", "mode", "thinking", "lightContext", "attachments", "attachAs"}
)

// maxGroup is the longest heading of a visible session, in characters.
const maxGroup = 64

// checkVisible refuses what does or does not go with visible. A parameter that
// says nothing (false, "", []) counts as left out where it is not for visible
// sessions.
func (p *spawnParams) checkVisible(keys map[string]json.RawMessage) error {
	var wrong []string
	if !p.Visible {
		for _, name := range visibleOnly {
			if _, given := keys[name]; given {
				wrong = append(wrong, name)
			}
		}
		if len(wrong) > 0 {
			return core.Errorf("bad_params", "%s: only for a visible session", strings.Join(wrong, ", ")).WithRemedy("add visible: true, or leave it out")
		}
		return nil
	}
	for _, name := range notVisible {
		if raw, given := keys[name]; given && !slices.Contains([]string{"false", `""`, "[]", "null"}, string(raw)) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return core.Errorf("bad_params", "%s: not for a visible session", strings.Join(wrong, ", ")).
			WithRemedy("leave it out, or start a sub-agent that is not visible")
	}
	if p.Cleanup == cleanupDelete {
		return core.Errorf("bad_params", "cleanup delete does not go with a visible session").WithRemedy("use cleanup keep: people keep it")
	}
	if g := p.group(); utf8.RuneCountInString(g) > maxGroup || strings.ContainsFunc(g, unicode.IsControl) {
		return core.Errorf("bad_params", "group is no heading: %q", core.Clip(g, 80)).WithRemedy("one line of at most %d characters", maxGroup)
	}
	return p.checkWorktree()
}

// maxRef is the longest worktreeBaseRef, in bytes.
const maxRef = 250

func (p *spawnParams) checkWorktree() error {
	switch {
	case !p.Worktree && (p.WorktreeName != "" || p.WorktreeBaseRef != ""):
		return core.Errorf("bad_params", "worktreeName and worktreeBaseRef are for a worktree only").WithRemedy("add worktree: true, or leave them out")
	case p.WorktreeName != "" && !worktree.NameForm.MatchString(p.WorktreeName):
		return core.Errorf("bad_params", "worktreeName %q is not allowed", core.Clip(p.WorktreeName, 80)).
			WithRemedy("a lower-case letter or digit, then letters, digits or -, at most 64")
	case len(p.WorktreeBaseRef) > maxRef || strings.HasPrefix(p.WorktreeBaseRef, "-") ||
		strings.ContainsFunc(p.WorktreeBaseRef, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return core.Errorf("bad_params", "worktreeBaseRef %q is no name of a commit", core.Clip(p.WorktreeBaseRef, 80)).
			WithRemedy("name a branch, a tag or a commit")
	}
	return nil
}

// group is the heading of a visible session, "" for none.
func (p *spawnParams) group() string {
	if p.Group == nil {
		return ""
	}
	return strings.TrimSpace(*p.Group)
}
