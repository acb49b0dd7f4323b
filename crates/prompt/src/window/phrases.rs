//! The rows of [`OverflowPhrase`], the more telling ones first. Data only.

use super::overflow::OverflowPhrase;

/// What a provider says of something that passes by waiting.
pub(super) const NOT_OVERFLOW: &[&str] = &["rate limit", "too many requests", "throttl", "please wait"];

const SEED: &str = "seed 003, pkg/llm/errors.go";

/// The table that pi has grown over many providers.
const AGENT: &str = "https://github.com/earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts";

const fn row(
    provider: &'static str,
    words: &'static [&'static str],
    example: &'static str,
    source: &'static str,
) -> OverflowPhrase {
    OverflowPhrase { provider, words, example, source }
}

/// Every phrase.
#[rustfmt::skip]
pub const PHRASES: &[OverflowPhrase] = &[
    row("Anthropic", &["prompt is too long"], "prompt is too long: 208310 tokens > 200000 maximum", "https://github.com/anthropics/claude-code/issues/12186"),
    row("Anthropic", &["exceed context limit"], "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", "https://github.com/strands-agents/sdk-python/pull/1078"),
    row("Anthropic", &["request_too_large"], "{\"error\":{\"type\":\"request_too_large\",\"message\":\"Request exceeds the maximum size\"}}", AGENT),
    row("Anthropic, Amazon Bedrock, z.ai", &["model_context_window_exceeded"], "stop_reason: model_context_window_exceeded", "https://docs.pipelex.com/latest/errors/llm-completion-truncated-error/"),
    row("OpenAI, Azure, Groq", &["context_length_exceeded"], "{'type': 'invalid_request_error', 'param': 'messages', 'code': 'context_length_exceeded'}", "https://github.com/Azure-Samples/azure-search-openai-demo/issues/1199"),
    row("OpenAI, Azure", &["exceeds the context window"], "Your input exceeds the context window of this model. Please adjust your input and try again.", "https://github.com/the-open-agent/openagent/issues/2344"),
    row("Azure", &["input tokens exceed the configured limit"], "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.", "https://github.com/BerriAI/litellm/issues/15968"),
    row("DeepSeek", &["maximum context length is"], "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).", "https://github.com/evalstate/fast-agent/issues/621"),
    row("vLLM", &["maximum context length is"], "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens", "https://github.com/vllm-project/vllm/issues/20409"),
    row("vLLM", &["too long to fit into the model"], "The prompt (total length 25938) is too long to fit into the model (context length 4096).", "https://github.com/vllm-project/vllm/issues/12165"),
    row("OpenRouter", &["maximum context length is"], "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input).", "https://github.com/refly-ai/refly/issues/1177"),
    row("Google", &["input token count", "exceeds the maximum"], "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", "https://github.com/google-gemini/gemini-cli/issues/6678"),
    row("Amazon Bedrock", &["input is too long"], "ValidationException: Input is too long for requested model.", "https://github.com/aws-samples/bedrock-chat/issues/95"),
    row("Amazon Bedrock", &["expected maxlength", "actual"], "Malformed input request: expected maxLength: 42000, actual: 46735, please reformat your input and try again.", "https://github.com/ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9"),
    row("Mistral", &["too large for model with", "maximum context length"], "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length", AGENT),
    row("Groq", &["reduce the length of the messages"], "Please reduce the length of the messages or completion.", "https://github.com/thepersonalaicompany/amurex-backend/issues/51"),
    // A request that is larger than a minute's allowance never passes by waiting.
    row("Groq, OpenAI", &["request too large"], "Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size", "https://github.com/ITSpecialist111/ai_automation_suggester/issues/61"),
    row("llama.cpp", &["exceed_context_size_error"], "{\"error\":{\"code\":400,\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":14429,\"n_ctx\":8192}}", "https://github.com/ggml-org/llama.cpp/pull/15780"),
    row("llama.cpp", &["exceeds the available context size"], "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", "https://github.com/ggml-org/llama.cpp/issues/19774"),
    row("llama.cpp", &["context size has been exceeded"], "Context size has been exceeded.", "https://github.com/ggml-org/llama.cpp/issues/19774"),
    row("llama-cpp-python", &["exceed context window"], "Requested tokens (2285) exceed context window of 2048", "https://github.com/abetlen/llama-cpp-python/issues/416"),
    row("Ollama", &["prompt too long", "context length"], "prompt too long; exceeded max context length by 12 tokens", AGENT),
    row("Ollama", &["input exceeds context length"], "input exceeds context length", "https://github.com/ITSpecialist111/ai_automation_suggester/issues/37"),
    row("LM Studio", &["greater than the context length"], "tokens to keep from the initial prompt is greater than the context length", AGENT),
    row("Together AI", &["longer than the model's context length"], "The input (140000 tokens) is longer than the model's context length (131072 tokens).", AGENT),
    row("Together AI", &["inputs", "max_new_tokens", "must not exceed"], "Input validation error: The sum of 'inputs' tokens and 'max_new_tokens' must not exceed 4097.", "https://portkey.ai/error-library/input-validation-error-15010000"),
    row("xAI", &["maximum prompt length is"], "This model's maximum prompt length is 131072 but the request contains 537812 tokens", AGENT),
    row("GitHub Copilot", &["prompt token count", "exceeds the limit of"], "prompt token count of 130000 exceeds the limit of 128000", AGENT),
    row("OpenRouter, Poolside", &["exceeds the maximum allowed input length"], "Input length 300000 exceeds the maximum allowed input length of 262144 tokens.", AGENT),
    row("MiniMax", &["context window exceeds limit"], "invalid params, context window exceeds limit", AGENT),
    row("Kimi", &["exceeded model token limit"], "Your request exceeded model token limit: 262144 (requested: 300000)", AGENT),
    row("LiteLLM", &["contextwindowexceedederror"], "litellm.ContextWindowExceededError: litellm.BadRequestError", "https://github.com/entropy-research/Devon/issues/88"),
    row("any", &["context length"], "context length exceeded", SEED),
    row("any", &["context window"], "the context window is full", SEED),
    row("any", &["contextwindow"], "ContextWindowError", SEED),
    row("any", &["maximum context"], "over the maximum context", SEED),
    row("any", &["max context"], "max context reached", SEED),
    row("any", &["context limit"], "context limit reached", SEED),
    row("any", &["too many tokens"], "too many tokens", SEED),
    row("any", &["maximum number of tokens"], "more than the maximum number of tokens", SEED),
    row("any", &["token limit exceeded"], "token limit exceeded", SEED),
    row("any", &["contextlength"], "ContextLengthError", SEED),
    row("any", &["context_window_exceeded"], "CONTEXT_WINDOW_EXCEEDED", SEED),
    row("any", &["finishreasonlength"], "finishReasonLength", SEED),
];
