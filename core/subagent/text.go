package subagent

import (
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/words"
)

// Notice is what the runtime says to people about an outcome where no agent
// does.
func Notice(w words.Language, r core.Run) string {
	parts := []string{w.NoticePlain(outcome(w, r))}
	if r.Detail != "" && r.Status != core.RunOK {
		parts[0] = w.NoticeBecause(outcome(w, r), r.Detail)
	}
	text := strings.TrimSpace(r.Result)
	switch {
	case text == "" && r.Status == core.RunOK:
		parts = append(parts, w.NoticeNoOutput())
	case text != "" && r.Partial:
		parts = append(parts, w.NoticePartial())
	}
	notice := strings.Join(parts, " ")
	if text == "" {
		return notice
	}
	return notice + "\n\n" + excerpt(text, noticeExcerpt)
}

// outcome says in a few words what became of a run.
func outcome(w words.Language, r core.Run) string {
	switch r.Status {
	case core.RunOK:
		return w.NoticeOk(r.Name())
	case core.RunError:
		return w.NoticeError(r.Name())
	case core.RunTimeout:
		return w.NoticeTimeout(r.Name())
	case core.RunCancelled:
		return w.NoticeCancelled(r.Name())
	case core.RunInterrupted:
		return w.NoticeInterrupted(r.Name())
	case core.RunBudget:
		return w.NoticeBudget(r.Name())
	}
	return r.Name() + " " + string(r.Status)
}
