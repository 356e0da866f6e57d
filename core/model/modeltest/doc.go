// Package modeltest is a model service for tests: one server that speaks the
// OpenAI chat completions protocol and the Anthropic Messages protocol, and
// answers as badly as it is told to.
//
// A test says what a model answers, request by request; the last answer is
// repeated:
//
//	s := modeltest.New()
//	defer s.Close()
//	s.On("m1", modeltest.Status(500, ""), modeltest.Say("hello"))
//
// An Answer is written once and given out in the protocol of the request. A
// stream is a list of events, which may end anywhere:
//
//	modeltest.Stream(modeltest.Text("half an"))                  // cut off
//	modeltest.Silent(clock, modeltest.Text("half an"))           // and then nothing
//	modeltest.Stream(modeltest.Call(0, "id", "tool", `{}`), modeltest.Finish("tools"), modeltest.End())
//
// The addresses for both are URL (Anthropic) and URL + "/v1" (OpenAI).
package modeltest
