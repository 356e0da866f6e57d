// Package openai calls models over the OpenAI chat completions protocol, which
// most services and local servers speak.
//
// The wire types are those of go-openai. The stream is read here, because that
// library's reader cannot tell a finished stream from one that was cut, hides
// the server's keep-alive comments, gives up after 300 of them, and keeps no
// Retry-After.
//
// # What a stream needs
//
// A call has succeeded when a finish_reason or [DONE] has come; a stream that
// ends before is Truncated. Reasoning (reasoning_content, or reasoning) becomes
// Think. Tool calls are put together from their fragments and given out whole
// at the end; while fragments come in, and at each comment, the stream yields
// keep-alives. Arguments that are no JSON object are given out as
// model.Arguments says, so that the turn answers them with an error result.
//
// # Errors
//
// Every error is a *model.Error: by status, code and message of the service,
// Network for failures of the connection. The context's own end is returned as
// its cause. The key is taken out of all error texts.
package openai
