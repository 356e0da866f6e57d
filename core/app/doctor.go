package app

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// Level says whether something is wrong.
type Level string

// The levels of a finding.
const (
	LevelProblem Level = "problem" // people are not served as they should be, or soon will not be
	LevelNotice  Level = "notice"  // worth a look
)

// FindingView is one thing that the doctor found.
type FindingView struct {
	// Whether something is wrong: problem, or notice.
	Level Level `json:"level"`
	// Stable word for the kind of finding.
	Code string `json:"code"`
	// What it is about, such as an account as channel:account; "" for the gateway as a whole.
	Subject string `json:"subject"`
	// What was found, for people.
	Text string `json:"text"`
	// What to do about it.
	Remedy string `json:"remedy"`
	// Since when, where that is known.
	Since core.Millis `json:"since,omitempty"`
}

// AlertView is one alert that was given lately.
type AlertView struct {
	// Kind of trouble: account_stopped, completion_blocked, completion_backlog, disk_nearly_full, budget_spent or bot_loop.
	Kind string `json:"kind"`
	// What it is about.
	Subject string `json:"subject"`
	// What happened last, for people.
	Text string `json:"text"`
	// What to do about it.
	Remedy string `json:"remedy"`
	// How often it happened.
	Times int `json:"times"`
	// When it happened first.
	FirstAt core.Millis `json:"firstAt"`
	// When it happened last.
	LastAt core.Millis `json:"lastAt"`
	// When it was last sent to alerts.to; left out where it was not.
	ToldAt core.Millis `json:"toldAt,omitempty"`
}

// DoctorView is what the doctor found.
type DoctorView struct {
	// Whether nothing is wrong: no finding is a problem.
	OK bool `json:"ok"`
	// Schema of the store.
	Schema int64 `json:"schema"`
	// The ledger of tasks in one line.
	Tasks TaskCounts `json:"tasks"`
	// What was found, problems first.
	Findings []FindingView `json:"findings"`
	// Alerts of the last seven days, the latest first; at most 50.
	Alerts []AlertView `json:"alerts"`
}

// Add adds findings behind those of their level.
func (d *DoctorView) Add(found ...FindingView) {
	for _, f := range found {
		i := len(d.Findings)
		if f.Level == LevelProblem {
			d.OK = false
			for i = 0; i < len(d.Findings) && d.Findings[i].Level == LevelProblem; i++ {
			}
		}
		d.Findings = append(d.Findings[:i], append([]FindingView{f}, d.Findings[i:]...)...)
	}
}

// The alerts that a doctor shows.
const (
	alertsDays  = 7 * day
	alertsShown = 50
)

// Doctor looks at what the store tells; App.doctor adds what only the running
// gateway knows.
func (v Views) Doctor(tx *store.Tx) (DoctorView, error) {
	d := DoctorView{OK: true, Findings: []FindingView{}, Alerts: []AlertView{}}
	var err error
	if d.Schema, err = store.SchemaVersion(); err != nil {
		return d, err
	}
	looks := []func(*store.Tx, *DoctorView) error{
		v.lookAtOutbox, v.lookAtUnsent, v.lookAtRuns, v.lookAtLedger, v.lookAtBindings, v.lookAtLoops, v.lookAtAlerts,
	}
	for _, look := range looks {
		if err := look(tx, &d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// lookAtOutbox finds the messages that somebody must decide about.
func (v Views) lookAtOutbox(tx *store.Tx, d *DoctorView) error {
	troubles, err := tx.Troubles()
	for _, t := range troubles {
		d.Add(FindingView{
			Level: LevelProblem, Code: "outbox_" + string(t.State), Subject: t.Channel + ":" + t.Account, Since: t.Since,
			Text:   fmt.Sprintf("%s %s, the oldest is %d", messages(t.Count), troubleText(t.State), t.Oldest),
			Remedy: fmt.Sprintf("`skein outbox --state %s` lists them; `skein outbox retry ID` or `dismiss ID` settles each", t.State),
		})
	}
	return err
}

// lookAtUnsent finds messages for accounts that nothing sends for.
func (v Views) lookAtUnsent(tx *store.Tx, d *DoctorView) error {
	unsent, err := tx.Unsent()
	for _, t := range unsent {
		settings, ok := v.Config.Channels.Get(t.Channel)
		if ok && settings.IsEnabled() {
			if keys := settings.Account(t.Account); keys != nil && keys.Enabled {
				continue
			}
		}
		d.Add(FindingView{
			Level: LevelProblem, Code: "outbox_homeless", Subject: t.Channel + ":" + t.Account, Since: t.Since,
			Text:   fmt.Sprintf("%s for an account that the configuration does not enable, the oldest is %d", messages(t.Count), t.Oldest),
			Remedy: "configure the account again, and they are sent; else they stay",
		})
	}
	return err
}

// blockedShown is how many blocked outcomes are named.
const blockedShown = 20

func (v Views) lookAtRuns(tx *store.Tx, d *DoctorView) error {
	runs, err := tx.BlockedRuns(blockedShown)
	for _, r := range runs {
		text, remedy := blockedTrouble(r.TaskID, r.Detail).inEnglish()
		d.Add(FindingView{Level: LevelProblem, Code: "completion_blocked", Subject: r.TaskID, Text: text, Remedy: remedy, Since: r.EndedAt})
	}
	return err
}

func (v Views) lookAtBindings(tx *store.Tx, d *DoctorView) error {
	live, err := tx.LiveBindings("", listMax)
	for _, b := range live {
		if b.Status == core.BindingSuspended {
			d.Add(FindingView{
				Level: LevelNotice, Code: "binding_suspended", Subject: b.Address.String(), Since: b.LastActivity,
				Text: "a bound thread cannot be written to: " + b.SuspendReason, Remedy: "unlock the thread, or end it: `skein bindings end " + b.ID + "`",
			})
		}
	}
	return err
}

// lookAtLoops finds the bots that are not heard at present.
func (v Views) lookAtLoops(tx *store.Tx, d *DoctorView) error {
	talks, err := tx.SilencedTalks(v.Now, listMax)
	for _, t := range talks {
		_, bot, _ := strings.Cut(t.Bot, ":")
		text, remedy := loopTrouble(t.Place, bot).inEnglish()
		d.Add(FindingView{
			Level: LevelNotice, Code: string(AlertBotLoop), Subject: t.Place, Text: text, Remedy: remedy, Since: t.Until.Add(-policy.LoopSilence),
		})
	}
	return err
}

func (v Views) lookAtAlerts(tx *store.Tx, d *DoctorView) error {
	alerts, err := tx.Alerts(v.Now.Add(-alertsDays), alertsShown)
	for _, a := range alerts {
		d.Alerts = append(d.Alerts, AlertView{
			Kind: a.Kind, Subject: a.Subject, Text: a.Text, Remedy: a.Remedy, Times: a.Times, FirstAt: a.First, LastAt: a.Last, ToldAt: a.Told,
		})
	}
	return err
}

// doctor adds what the running gateway knows, or that there is none.
func (s api) doctor(r *http.Request) (DoctorView, error) {
	d, err := read(s, r, Views.Doctor)
	if err != nil {
		return d, err
	}
	look := DiskOf
	if s.live != nil {
		s.live.lookAtAccounts(&d)
		s.live.lookAtReload(&d)
		look = s.live.opts.Disk
	} else {
		d.Add(FindingView{
			Level: LevelProblem, Code: "gateway_down", Text: "no gateway is running for " + s.config().StateDir(), Remedy: "start it with `skein run`",
		})
	}
	if look != nil {
		s.lookAtDisk(look, &d)
	}
	return d, nil
}

func (s api) lookAtDisk(look func(string) (Disk, error), d *DoctorView) {
	folder := s.config().StateDir()
	disk, err := look(folder)
	if err == nil && disk.nearlyFull() {
		text, remedy := diskTrouble(folder, disk).inEnglish()
		d.Add(FindingView{Level: LevelProblem, Code: string(AlertDiskNearlyFull), Text: text, Remedy: remedy})
	}
}

// retriesForgiven is how long an account may be between two tries before it is
// a problem.
const retriesForgiven = time.Minute

func (a *App) lookAtAccounts(d *DoctorView) {
	for _, x := range a.Accounts() {
		f := FindingView{Level: LevelProblem, Subject: x.Channel + ":" + x.Account, Since: x.Since}
		switch x.State {
		case AccountStopped:
			f.Code, f.Text = string(AlertAccountStopped), "the account has stopped: "+x.LastError
			f.Remedy = words.Language{}.AlertAccountStoppedRemedy()
		case AccountRetrying:
			f.Code, f.Text, f.Remedy = "account_retrying", "the account is not connected: "+x.LastError, "it is tried again by itself; the log has each failure"
			if a.world.Now().Sub(x.Since) < retriesForgiven {
				f.Level = LevelNotice
			}
		default:
			continue
		}
		d.Add(f)
	}
}

// lookAtReload finds what the last reload left open.
func (a *App) lookAtReload(d *DoctorView) {
	a.mu.Lock()
	pending, refused := lines(a.reloaded.pending), a.reloaded.refused
	a.mu.Unlock()
	if refused != nil {
		d.Add(FindingView{
			Level: LevelProblem, Code: "config_invalid", Subject: a.live().cfg.Path(), Text: "the changed configuration is not in force: " + errors.Unwrap(refused).Error(),
			Remedy: "`skein config check` says what is wrong; the file is read again when it changes",
		})
	}
	if len(pending) > 0 {
		d.Add(FindingView{
			Level: LevelNotice, Code: "restart_needed", Subject: a.live().cfg.Path(), Text: "changes wait for a restart: " + strings.Join(pending, "; "),
			Remedy: "restart the gateway",
		})
	}
}
