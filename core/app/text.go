package app

import (
	"fmt"

	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// trouble says what is wrong and what to do, in any language: an alert speaks
// that of the operator's chat, and what is stored for the doctor is English.
type trouble struct {
	text, remedy func(w words.Language) string
}

// inEnglish returns both parts for programs and the command line.
func (t trouble) inEnglish() (text, remedy string) {
	return t.text(words.Language{}), t.remedy(words.Language{})
}

func stoppedTrouble(account, cause string) trouble {
	return trouble{
		func(w words.Language) string { return w.AlertAccountStopped(account, cause) },
		words.Language.AlertAccountStoppedRemedy,
	}
}

func blockedTrouble(task, cause string) trouble {
	return trouble{
		func(w words.Language) string { return w.AlertCompletionBlocked(cause, task) },
		func(w words.Language) string { return w.AlertCompletionBlockedRemedy(task) },
	}
}

func backlogTrouble(tree string, n, most int) trouble {
	return trouble{
		func(w words.Language) string { return w.AlertCompletionBacklog(most, n, tree) },
		words.Language.AlertCompletionBacklogRemedy,
	}
}

func budgetTrouble(over *agent.BudgetError) trouble {
	return trouble{
		func(w words.Language) string { return w.AlertBudget(over.Agent, over.Key, over.Limit, over.Spent) },
		func(w words.Language) string { return w.AlertBudgetRemedy(over.Agent) },
	}
}

func loopTrouble(place, bot string) trouble {
	return trouble{
		func(w words.Language) string {
			return w.AlertBotLoop(bot, policy.LoopEvents, place, policy.LoopSilence, policy.LoopWindow)
		},
		words.Language.AlertBotLoopRemedy,
	}
}

func diskTrouble(folder string, d Disk) trouble {
	return trouble{
		func(w words.Language) string { return w.AlertDisk(folder, size(d.Free), size(d.Total)) },
		words.Language.AlertDiskRemedy,
	}
}

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func troubleText(s store.OutboxState) string {
	switch s {
	case store.OutAmbiguous:
		return "may have been sent or not"
	case store.OutFailed:
		return "refused by the platform"
	}
	return "given up after many tries"
}
