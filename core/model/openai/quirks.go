package openai

import (
	"errors"
	"regexp"

	"github.com/skein-bot/skein/core/model"
)

// quirks are the ways in which a model's service wants requests other than the
// vendor's. Some are known by name, the others are learned from its refusals.
type quirks struct {
	shortIDs         bool // call ids are 9 letters and digits
	newTokenLimit    bool // max_completion_tokens, not max_tokens
	noStreamOptions  bool // stream_options is not known
	noEffort         bool // reasoning_effort is not known
	noPictures       bool // the model does not see after all
	wantsReasoning   bool // the reasoning that led to calls is sent back with them
	noReasoningField bool // and is not
}

var (
	shortIDModels  = regexp.MustCompile(`(?i)(mi[sx]tral|(code|dev|magi|mini)stral|pixtral)`)
	newLimitModels = regexp.MustCompile(`(^|/)(o[1-9]|gpt-[5-9])`)
	thinkingModels = regexp.MustCompile(`(?i)(deepseek|kimi)`)
)

// quirksOf returns what is known of a model by its name.
func quirksOf(id string) quirks {
	return quirks{
		shortIDs: shortIDModels.MatchString(id), newTokenLimit: newLimitModels.MatchString(id), wantsReasoning: thinkingModels.MatchString(id),
	}
}

// refusals pair what a service says about a request with what it wants.
func refusals() []refusal {
	return []refusal{
		{regexp.MustCompile(`(?i)tool.?call.?id`), func(q *quirks) *bool { return &q.shortIDs }},
		{regexp.MustCompile(`(?i)max_completion_tokens`), func(q *quirks) *bool { return &q.newTokenLimit }},
		{regexp.MustCompile(`(?i)stream_options`), func(q *quirks) *bool { return &q.noStreamOptions }},
		{regexp.MustCompile(`(?i)reasoning_effort`), func(q *quirks) *bool { return &q.noEffort }},
		{regexp.MustCompile(`(?i)reasoning_content`), func(q *quirks) *bool {
			if q.wantsReasoning {
				return &q.noReasoningField
			}
			return &q.wantsReasoning
		}},
		{regexp.MustCompile(`(?i)image|vision|multi-?modal`), func(q *quirks) *bool { return &q.noPictures }},
	}
}

type refusal struct {
	said *regexp.Regexp
	want func(*quirks) *bool
}

// learn takes from an error what the service wants; ok is false if it says
// nothing new, so that the same request would fail again.
func (q *quirks) learn(err error) (ok bool) {
	e := new(model.Error)
	if !errors.As(err, &e) || e.Class != model.BadRequest || e.Status != 400 && e.Status != 422 {
		return false
	}
	for _, r := range refusals() {
		if want := r.want(q); !*want && r.said.MatchString(e.Error()) {
			*want = true
			return true
		}
	}
	return false
}
