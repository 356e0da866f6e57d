package convtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/convtest/script"
)

// people plays what somebody does.
func (p *play) people(ctx context.Context, do script.Statement) error {
	switch do := do.(type) {
	case script.Say:
		return p.say(ctx, do)
	case script.SendFile:
		f, _ := p.script.File(do.File)
		post := channeltest.Post{Text: p.expand(do.Text), File: &channeltest.File{Name: f.Name, Data: f.Data}}
		return p.post(ctx, do.User, p.resolve(do.Place), post)
	case script.Edit:
		on, ref, by, err := p.message(do.User, do.Target, do.Place)
		if err != nil {
			return err
		}
		return refused(on.server.Edit(ctx, by, ref, p.expand(do.Text)))
	case script.Delete:
		on, ref, by, err := p.message(do.User, do.Target, do.Place)
		if err != nil {
			return err
		}
		return refused(on.server.Delete(ctx, by, ref))
	case script.React:
		on, ref, by, err := p.message(do.User, do.Target, do.Place)
		if err != nil {
			return err
		}
		return refused(on.server.React(ctx, by, ref, do.Emoji))
	case script.Press:
		by, err := p.user(do.User)
		if err != nil {
			return err
		}
		at := p.resolve(do.Place)
		return refused(at.server.Press(ctx, by, at.at, p.expand(do.Label)))
	case script.OpenTopic:
		return p.openTopic(ctx, do)
	}
	return nil
}

// user is a person as test servers know one. Somebody who is called owner for
// the first time becomes one, as by a reload of the configuration.
func (p *play) user(u script.User) (channeltest.User, error) {
	if u.Owner && p.addOwner(u.Name) {
		if err := p.ownersChanged(); err != nil {
			return channeltest.User{}, err
		}
	}
	bot := u.Bot
	for _, x := range p.script.People() {
		bot = bot || x.Name == u.Name && x.Bot
	}
	return channeltest.User{Name: u.Name, Bot: bot}, nil
}

func (p *play) say(ctx context.Context, do script.Say) error {
	at := p.resolve(do.Place)
	post := channeltest.Post{Text: p.expand(do.Text), Command: do.Command}
	if do.ReplyTo != "" {
		_, ref, _, err := p.message(do.User, do.ReplyTo, do.Place)
		if err != nil {
			return err
		}
		post.ReplyTo = &ref
	}
	return p.post(ctx, do.User, at, post)
}

func (p *play) post(ctx context.Context, u script.User, at spot, post channeltest.Post) error {
	by, err := p.user(u)
	if err != nil {
		return err
	}
	post.By, post.At = by, at.at
	ref, err := at.server.Post(ctx, post)
	if err != nil {
		return refused(err)
	}
	p.last[u.Name], p.lastOn[u.Name] = ref, at.channel
	p.lastAt[lastKey{u.Name, at.name, at.at}] = ref
	return nil
}

func (p *play) openTopic(ctx context.Context, do script.OpenTopic) error {
	by, err := p.user(do.User)
	if err != nil {
		return err
	}
	at := p.resolve(do.Place)
	thread, err := at.server.OpenTopic(ctx, by, at.at, p.expand(do.Title))
	if err != nil {
		return refused(err)
	}
	if do.As != "" {
		p.vars[do.As] = thread
	}
	return nil
}

// message finds the message that LAST or BOT means: at the place of the line,
// if it has one, else LAST anywhere, and BOT where that person wrote last.
func (p *play) message(u script.User, t script.Target, place script.Place) (on *channel, ref channeltest.Ref, by channeltest.User, err error) {
	if by, err = p.user(u); err != nil {
		return nil, ref, by, err
	}
	ref, wrote := p.last[u.Name]
	on = p.lastOn[u.Name]
	if place.Channel != "" {
		at := p.resolve(place)
		on = at.channel
		ref, wrote = p.lastAt[lastKey{u.Name, at.name, at.at}]
		ref.Place = at.at
	}
	switch {
	case t == script.Last && wrote:
		return on, ref, by, nil
	case t == script.Last:
		return nil, ref, by, &expectError{expected: "a message of " + u.Name + " before this line", seen: []string{"there is none"}}
	case on == nil:
		return nil, ref, by, &expectError{expected: u.Name + " to have written somewhere, so that BOT means the bot there", seen: []string{"nothing"}}
	}
	for _, m := range slices.Backward(on.server.Messages(ref.Place)) {
		if m.Own {
			return on, channeltest.Ref{Place: ref.Place, ID: m.ID}, by, nil
		}
	}
	return nil, ref, by, &expectError{expected: "a message of the bot at " + spot{on, ref.Place}.String(), seen: []string{"there is none"}}
}

// refused explains the error of a test server.
func refused(err error) error {
	if err != nil {
		err = fmt.Errorf("the platform refuses: %w", err)
	}
	return err
}
