package app

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// AlertKind is a kind of trouble that an operator is told of.
type AlertKind string

// The kinds of trouble.
const (
	AlertAccountStopped    AlertKind = "account_stopped"    // about an account
	AlertCompletionBlocked AlertKind = "completion_blocked" // about the account that could not deliver it
	AlertCompletionBacklog AlertKind = "completion_backlog" // about the tree of a session
	AlertDiskNearlyFull    AlertKind = "disk_nearly_full"   // about the store's folder
	AlertBotLoop           AlertKind = "bot_loop"           // about the conversation in which two bots may answer each other
	AlertBudgetSpent       AlertKind = "budget_spent"       // about the agent whose limits are used up
)

// alert records trouble in the transaction of what happened, and posts one
// message to alerts.to unless the same was sent within alerts.cooldownMinutes.
// What is about one thing is one alert, however often it happens: the text is
// that of the latest. Texts name no person: they outlive a deletion of data.
func (a *App) alert(tx *store.Tx, kind AlertKind, subject string, what trouble) error {
	now := a.world.Now()
	text, remedy := what.inEnglish()
	told, err := tx.NoteAlert(store.Alert{Kind: string(kind), Subject: subject, Text: text, Remedy: remedy}, now)
	if err != nil {
		return err
	}
	cfg := a.live().cfg.Alerts
	cooldown := time.Duration(cfg.CooldownMinutes) * time.Minute
	if cfg.To == "" || told != 0 && now.Sub(told) < cooldown {
		return nil
	}
	to, ok := a.alertsTo(cfg.To)
	if !ok {
		a.log.Warn("an alert cannot be sent: alerts.to names no account of this gateway", "to", cfg.To, "alert", text)
		return nil
	}
	w := a.live().words
	message := w.AlertMessage(what.remedy(w), what.text(w))
	if _, _, err := a.delivery.Post(tx, store.Outbox{Kind: store.OutNotice, Address: to, Text: message}); err != nil {
		return err
	}
	return tx.AlertTold(string(kind), subject, now)
}

// alertsTo is the address of alerts; ok is false where nothing can send there.
func (a *App) alertsTo(text string) (to core.Address, ok bool) {
	to, err := core.ParseAddress(text)
	return to, err == nil && a.adapter(to.Channel, to.Account) != nil
}

// accountStopped tells that an account has stopped for good.
func (a *App) accountStopped(ctx context.Context, x *account, cause error) {
	a.alertAlone(ctx, AlertAccountStopped, x.channel+":"+x.id, stoppedTrouble(x.channel+":"+x.id, cause.Error()))
}

// alertAlone is alert for what happens outside the store.
func (a *App) alertAlone(ctx context.Context, kind AlertKind, subject string, what trouble) {
	err := a.db.Write(ctx, func(tx *store.Tx) error { return a.alert(tx, kind, subject, what) })
	if err != nil && ctx.Err() == nil {
		a.log.Error("an alert could not be recorded", "alert", string(kind), "subject", subject, "error", err)
	}
}

// completionBlocked tells that nobody was told an outcome.
func (a *App) completionBlocked(tx *store.Tx, run core.Run, detail string) error {
	place := run.Origin.Channel + ":" + run.Origin.Account
	return a.alert(tx, AlertCompletionBlocked, place, blockedTrouble(run.TaskID, detail))
}

// completionBacklog tells that many outcomes of one tree are blocked.
func (a *App) completionBacklog(tx *store.Tx, run core.Run, n, most int) error {
	return a.alert(tx, AlertCompletionBacklog, run.Root, backlogTrouble(run.Root, n, most))
}

// budgetSpent tells that the limits of an agent ended a turn.
func (a *App) budgetSpent(tx *store.Tx, over *agent.BudgetError) error {
	return a.alert(tx, AlertBudgetSpent, over.Agent, budgetTrouble(over))
}

// botLoop tells that a bot is not heard in a conversation for a while.
func (a *App) botLoop(tx *store.Tx, place core.Address, bot string) error {
	a.log.Warn("a bot is not heard for a while: two bots may be answering each other", "place", place.String(), "bot", bot, "for", policy.LoopSilence)
	return a.alert(tx, AlertBotLoop, place.String(), loopTrouble(place.String(), bot))
}

// The disk is looked at every diskEvery.
const diskEvery = 5 * time.Minute

// Disk is the space of a file system, in bytes.
type Disk struct{ Free, Total uint64 }

// nearlyFull reports whether an operator should make room: less than 200 MiB,
// or a twentieth and less than 2 GiB.
func (d Disk) nearlyFull() bool {
	return d.Free < 200<<20 || d.Free < 2<<30 && d.Free < d.Total/20
}

// watchDisk looks at the disk of the store until ctx ends.
func (a *App) watchDisk(ctx context.Context) {
	defer a.wg.Done()
	tick := a.world.Work.NewSignal("disk")
	defer tick.Drop()
	for {
		a.checkDisk(ctx)
		timer := a.world.Clock.AfterFunc(diskEvery, tick.Notify)
		if tick.Wait(ctx) != nil {
			timer.Stop()
			return
		}
	}
}

func (a *App) checkDisk(ctx context.Context) {
	defer a.world.Work.Begin("disk")()
	disk, err := a.opts.Disk(a.stateDir)
	if err != nil {
		a.log.Warn("the disk cannot be looked at", "folder", a.stateDir, "error", err)
		return
	}
	if !disk.nearlyFull() {
		return
	}
	a.log.Warn("the disk is nearly full", "folder", a.stateDir, "free", disk.Free, "of", disk.Total)
	a.alertAlone(ctx, AlertDiskNearlyFull, a.stateDir, diskTrouble(a.stateDir, disk))
}

// size writes a number of bytes for people.
func size(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
