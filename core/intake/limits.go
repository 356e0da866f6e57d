package intake

import (
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
)

// tellEvery is how often one person is told that one limit is reached.
const tellEvery = time.Hour

// overLimit counts a message that was admitted, and reports whether it is over
// a limit of its author and is left out. The count, the line that says so and
// the message's own effect are one transaction: what is counted was taken, and
// what was taken is counted, over a restart and on every node. The message is
// acknowledged all the same; a platform that delivered it again would only
// make things worse.
//
// Owners have no limits, and /stop always works.
func (s *Service) overLimit(tx *store.Tx, m core.Message, cmd command.Line, isCommand bool) (bool, error) {
	limits := s.Config.UserLimits(m.Address.Channel, m.Address.Account)
	person := policy.Sender(m.Address.Channel, m.Author)
	if !limits.Any() || person == "" || policy.IsOwner(person, s.Config.Owners()) || isCommand && cmd.Name == "stop" {
		return false, nil
	}
	now := s.World.Now()
	pace, err := tx.LockPace(person, now)
	if err != nil {
		return false, err
	}
	use := policy.Use{Recent: policy.ParseRecent(pace.Recent)}
	turn := !isCommand || command.BeginsTurn(cmd)
	if turn && limits.PerDay() {
		if err := s.useOfToday(tx, person, now, &use); err != nil {
			return false, err
		}
	}
	over := limits.Over(use, turn, now)
	if over == policy.LimitNone {
		pace.Recent = use.Recent.Add(now).String()
		return false, tx.SetPace(pace)
	}
	s.Log.Info("a message is over a limit and was left out", "limit", string(over), "address", m.Address.String(), "author", m.Author.ID)
	told, err := s.tellLimit(tx, m, person, over, pace.Missed)
	if err != nil {
		return true, err
	}
	pace.Missed++
	if told {
		pace.Missed = 0
	}
	return true, tx.SetPace(pace)
}

// useOfToday fills in what the day, one of UTC, has seen.
func (s *Service) useOfToday(tx *store.Tx, person string, now core.Millis, use *policy.Use) error {
	today := store.DayOf(now)
	turns, err := tx.TurnsOf(person, today.Start())
	if err != nil {
		return err
	}
	day, err := tx.UsageOf(person, today)
	use.Turns, use.USD = turns, day.USD()
	return err
}

// tellLimit tells the author of a message that it was left out, once an hour for
// each limit, with how many went the same way since the last time. Another bot is told
// nothing: it might answer.
func (s *Service) tellLimit(tx *store.Tx, m core.Message, person string, over policy.Limit, missed int) (told bool, err error) {
	if m.Author.Bot {
		return false, nil
	}
	now := s.World.Now()
	first, err := tx.FirstNotice("limit/"+string(over)+"/"+person, now, now.Add(-tellEvery))
	if err != nil || !first {
		return false, err
	}
	return true, s.reply(tx, m, limitText(s.Config.Language(), over, missed))
}
