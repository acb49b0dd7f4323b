//! Passages of code, as templates of the grammar.
//! Not whole files: a file is a head and as many passages as it has room for.

use super::Language;

/// Returns what a file of the language starts with.
pub(super) const fn head(language: Language) -> &'static str {
    match language {
        Language::Rust => {
            "//! ‹fact›\n\nuse std::collections::HashMap;\nuse std::path::{Path, PathBuf};\nuse std::sync::Arc;\n\nuse anyhow::{Context, Result, bail};\nuse serde::{Deserialize, Serialize};\nuse ‹crate›::‹noun|pascal›;\n\nuse crate::‹noun#1|snake›::‹noun#1|pascal›;\n"
        }
        Language::Go => {
            "package ‹noun#1|snake›\n\nimport (\n\t\"context\"\n\t\"encoding/json\"\n\t\"errors\"\n\t\"fmt\"\n\t\"os\"\n\t\"path/filepath\"\n\t\"strings\"\n\t\"time\"\n\n\t\"github.com/acme/‹project#1›/internal/‹noun|snake›\"\n\t\"github.com/stretchr/testify/require\"\n)\n"
        }
        Language::TypeScript => {
            "import { existsSync, mkdirSync, readFileSync, writeFileSync } from \"fs\";\nimport { homedir } from \"os\";\nimport { dirname, join, resolve } from \"path\";\nimport type { ‹noun#1|pascal›, ‹noun#1|pascal›Options } from \"./‹noun#1|kebab›.js\";\nimport { ‹verb#1›‹noun#2|pascal› } from \"../‹dir›/‹noun#2|kebab›.js\";\n"
        }
        Language::Python => {
            "\"\"\"‹fact›\"\"\"\n\nfrom __future__ import annotations\n\nimport json\nimport logging\nimport os\nfrom dataclasses import dataclass, field\nfrom pathlib import Path\nfrom typing import Any, Dict, List, Optional\n\nlogger = logging.getLogger(__name__)\n"
        }
        Language::Elixir => {
            "defmodule ‹project#1|pascal›.‹noun#1|pascal›.‹noun#2|pascal› do\n  @moduledoc \"\"\"\n  ‹fact›\n  \"\"\"\n\n  alias ‹project#1|pascal›.‹noun#3|pascal›\n  require Logger\n"
        }
        Language::Shell => {
            "#!/usr/bin/env bash\n# ‹fact›\nset -euo pipefail\n\ncd \"$(dirname \"$0\")/..\"\n"
        }
        Language::Markdown => "# ‹noun|cap› ‹noun›\n\n‹fact› ‹fact›\n",
        Language::Config => {
            "# ‹fact›\n[package]\nname = \"‹project#1›\"\nversion = \"0.‹int:1:20›.‹int:0:9›\"\n"
        }
    }
}

/// Returns the passages of the language.
pub(super) const fn body(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => RUST,
        Language::Go => GO,
        Language::TypeScript => TYPESCRIPT,
        Language::Python => PYTHON,
        Language::Elixir => ELIXIR,
        Language::Shell => SHELL,
        Language::Markdown => MARKDOWN,
        Language::Config => CONFIG,
    }
}

const RUST: &[&str] = &[
    "/// ‹fact›\n#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]\npub struct ‹noun#1|pascal›‹noun#2|pascal› {\n    /// ‹fact›\n    pub ‹noun#3|snake›: ‹type›,\n    pub(crate) ‹noun#4|snake›: Option<‹type›>,\n    ‹noun#5|snake›: ‹type›,\n}\n",
    "impl ‹noun#1|pascal› {\n    pub fn new(‹noun#2|snake›: ‹type›, ‹noun#3|snake›: impl Into<PathBuf>) -> Self {\n        Self {\n            ‹noun#2|snake›,\n            ‹noun#3|snake›: ‹noun#3|snake›.into(),\n            ..Default::default()\n        }\n    }\n}\n",
    "    /// ‹fact›\n    pub fn ‹verb›_‹noun#1|snake›(&mut self, ‹noun#1|snake›: &‹noun#1|pascal›) -> Result<()> {\n        let ‹noun#2|snake› = self\n            .‹noun#3|snake›\n            .get(&‹noun#1|snake›.id)\n            .with_context(|| format!(\"failed to ‹verb› ‹noun› {}\", ‹noun#1|snake›.id))?;\n        if ‹noun#2|snake›.is_empty() {\n            return Ok(());\n        }\n        Ok(())\n    }\n",
    "pub async fn ‹verb#1›_‹noun#1|snake›(path: &Path) -> Result<Vec<‹noun#1|pascal›>> {\n    let mut out = Vec::new();\n    for line in std::fs::read_to_string(path)?.lines() {\n        match serde_json::from_str(line) {\n            Ok(‹noun#1|snake›) => out.push(‹noun#1|snake›),\n            Err(error) => tracing::warn!(%error, \"skipped ‹noun›\"),\n        }\n    }\n    Ok(out)\n}\n",
    "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn ‹verb›s_‹noun#1|snake›_‹noun#2|snake›() {\n        let ‹noun#1|snake› = ‹noun#1|pascal›::default();\n        assert_eq!(‹noun#1|snake›.‹noun#2|snake›(), ‹int:0:40›);\n        assert!(‹noun#1|snake›.is_empty());\n    }\n}\n",
    "#[derive(Debug, thiserror::Error)]\npub enum ‹noun#1|pascal›Error {\n    #[error(\"‹noun› not found: {0}\")]\n    NotFound(String),\n    #[error(\"io error\")]\n    Io(#[from] std::io::Error),\n}\n",
    "    let ‹noun#1|snake› = ‹noun#2|snake›\n        .iter()\n        .filter(|‹noun#3|snake›| !‹noun#3|snake›.is_empty())\n        .map(|‹noun#3|snake›| ‹noun#3|snake›.to_string())\n        .collect::<Vec<_>>();\n",
    "    let Some(‹noun#1|snake›) = self.‹noun#2|snake›.as_ref() else {\n        return Err(‹noun#3|pascal›Error::NotFound(‹noun#2|snake›.to_string()));\n    };\n",
    "impl std::fmt::Display for ‹noun#1|pascal› {\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {\n        write!(f, \"{}\", self.‹noun|snake›)\n    }\n}\n",
    "        match self {\n            Self::‹noun#1|pascal› => \"‹noun#1|snake›\",\n            Self::‹noun#2|pascal› => \"‹noun#2|snake›\",\n            _ => unreachable!(),\n        }\n",
];

const GO: &[&str] = &[
    "// ‹verb#1|pascal›‹noun#1|pascal› ‹fact›\nfunc (s *‹noun#2|pascal›‹noun#3|pascal›) ‹verb#1|pascal›‹noun#1|pascal›(ctx context.Context, ‹noun#1|camel›ID string) (*‹noun#1|pascal›, error) {\n\t‹noun#1|camel›, err := s.‹noun#4|camel›.Get(ctx, ‹noun#1|camel›ID)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"failed to ‹verb#1› ‹noun#1›: %w\", err)\n\t}\n\tif ‹noun#1|camel› == nil {\n\t\treturn nil, nil\n\t}\n\treturn ‹noun#1|camel›, nil\n}\n",
    "// ‹noun#1|pascal›‹noun#2|pascal› ‹fact›\ntype ‹noun#1|pascal›‹noun#2|pascal› struct {\n\t‹noun#3|pascal›   string            `json:\"‹noun#3|snake›\"`\n\t‹noun#4|pascal› map[string]string `json:\"‹noun#4|snake›,omitempty\"`\n\tCreatedAt time.Time         `json:\"created_at\"`\n\t‹noun#5|camel›  bool\n}\n",
    "func Test‹verb#1|pascal›‹noun#1|pascal›(t *testing.T) {\n\tt.Parallel()\n\n\ttests := []struct {\n\t\tname    string\n\t\tinput   string\n\t\twant    string\n\t\twantErr bool\n\t}{\n\t\t{\n\t\t\tname:  \"‹adj› ‹noun›\",\n\t\t\tinput: \"‹noun|kebab›\",\n\t\t\twant:  \"‹noun|kebab›\",\n\t\t},\n\t}\n\tfor _, tt := range tests {\n\t\tt.Run(tt.name, func(t *testing.T) {\n\t\t\tgot, err := ‹verb#1|pascal›‹noun#1|pascal›(tt.input)\n\t\t\tif (err != nil) != tt.wantErr {\n\t\t\t\tt.Errorf(\"‹verb#1|pascal›‹noun#1|pascal›() error = %v, wantErr %v\", err, tt.wantErr)\n\t\t\t}\n\t\t\tif got != tt.want {\n\t\t\t\tt.Errorf(\"‹verb#1|pascal›‹noun#1|pascal›() = %q, want %q\", got, tt.want)\n\t\t\t}\n\t\t})\n\t}\n}\n",
    "\tif err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {\n\t\treturn fmt.Errorf(\"failed to create directory: %w\", err)\n\t}\n\tdata, err := json.MarshalIndent(‹noun#1|camel›, \"\", \"  \")\n\tif err != nil {\n\t\treturn fmt.Errorf(\"failed to marshal ‹noun#1›: %w\", err)\n\t}\n\tif err := os.WriteFile(path, data, 0o600); err != nil {\n\t\treturn fmt.Errorf(\"failed to write ‹noun#1›: %w\", err)\n\t}\n\treturn nil\n}\n",
    "\tdir := t.TempDir()\n\tpath := filepath.Join(dir, \"‹noun|kebab›.json\")\n\trequire.NoError(t, os.WriteFile(path, []byte(`{}`), 0o644))\n\n\tgot, err := Load(path)\n\trequire.NoError(t, err)\n\trequire.Equal(t, \"‹noun|kebab›\", got.‹noun|pascal›)\n",
    "func ‹verb#1|camel›‹noun#1|pascal›(‹noun#2|camel›s []string) []string {\n\tvar result []string\n\tfor _, ‹noun#2|camel› := range ‹noun#2|camel›s {\n\t\tif strings.HasPrefix(‹noun#2|camel›, \"‹noun|kebab›/\") {\n\t\t\tcontinue\n\t\t}\n\t\tresult = append(result, ‹noun#2|camel›)\n\t}\n\treturn result\n}\n",
    "\tswitch {\n\tcase errors.Is(err, os.ErrNotExist):\n\t\treturn nil, nil //nolint:nilnil // ‹fact›\n\tcase err != nil:\n\t\treturn nil, fmt.Errorf(\"failed to open ‹noun›: %w\", err)\n\tdefault:\n\t}\n\tdefer func() { _ = f.Close() }()\n",
    "const (\n\t// ‹fact›\n\t‹noun#1|camel›‹noun#2|pascal› = \"‹noun#1|kebab›-‹noun#2|kebab›\"\n\tdefault‹noun#3|pascal› = ‹int:1:500› * time.Second\n)\n",
    "\tmu.Lock()\n\tdefer mu.Unlock()\n\n\tlogger.Info(\"‹verb› ‹noun›\",\n\t\tslog.String(\"‹noun#1|snake›_id\", ‹noun#1|camel›ID),\n\t\tslog.Int(\"count\", len(‹noun#2|camel›s)),\n\t)\n",
];

const TYPESCRIPT: &[&str] = &[
    "/**\n * ‹fact›\n */\nexport interface ‹noun#1|pascal›‹noun#2|pascal› {\n\t/** ‹fact› */\n\t‹noun#3|camel›: string;\n\t‹noun#4|camel›?: number;\n\ton‹verb|pascal›?: (‹noun#5|camel›: ‹noun#5|pascal›) => void;\n}\n",
    "export class ‹noun#1|pascal›‹noun#2|pascal› {\n\tprivate ‹noun#3|camel›: ‹noun#3|pascal› | null = null;\n\tprivate readonly ‹noun#4|camel›: Map<string, ‹noun#4|pascal›> = new Map();\n\n\tconstructor(private options: ‹noun#1|pascal›Options = {}) {\n\t\tthis.‹noun#3|camel› = options.‹noun#3|camel› ?? null;\n\t}\n",
    "\tasync ‹verb#1›‹noun#1|pascal›(‹noun#2|camel›: string): Promise<‹noun#1|pascal›[]> {\n\t\tconst ‹noun#3|camel› = await this.‹noun#4|camel›.‹verb›(‹noun#2|camel›);\n\t\tif (!‹noun#3|camel›) {\n\t\t\tthrow new Error(`‹noun|cap› not found: ${‹noun#2|camel›}`);\n\t\t}\n\t\treturn ‹noun#3|camel›.filter((‹noun#5|camel›) => ‹noun#5|camel›.‹noun|camel› !== undefined);\n\t}\n",
    "export function ‹verb#1›‹noun#1|pascal›(‹noun#2|camel›: ‹noun#2|pascal›): ‹noun#1|pascal› {\n\tconst result: ‹noun#1|pascal› = {\n\t\t...‹noun#2|camel›,\n\t\t‹noun#3|camel›: ‹noun#2|camel›.‹noun#3|camel› ?? \"\",\n\t};\n\treturn result;\n}\n",
    "describe(\"‹noun#1|pascal›‹noun#2|pascal›\", () => {\n\tit(\"should ‹verb› ‹noun› ‹when›\", async () => {\n\t\tconst ‹noun#1|camel› = new ‹noun#1|pascal›‹noun#2|pascal›({ ‹noun#3|camel›: true });\n\t\tconst result = await ‹noun#1|camel›.‹verb›(\"‹noun|kebab›\");\n\t\texpect(result).toEqual([\"‹noun|kebab›\"]);\n\t\texpect(result.length).toBe(‹int:0:30›);\n\t});\n});\n",
    "\t\ttry {\n\t\t\tconst content = readFileSync(path, \"utf-8\");\n\t\t\treturn JSON.parse(content) as ‹noun#1|pascal›;\n\t\t} catch (error) {\n\t\t\tconst message = error instanceof Error ? error.message : String(error);\n\t\t\tconsole.error(`Failed to ‹verb› ‹noun›: ${message}`);\n\t\t\treturn null;\n\t\t}\n",
    "\t\tfor (const ‹noun#1|camel› of this.‹noun#2|camel›) {\n\t\t\tif (‹noun#1|camel›.type === \"‹noun|snake›\") {\n\t\t\t\tcontinue;\n\t\t\t}\n\t\t\tthis.‹noun#3|camel›.addChild(new ‹noun#4|pascal›(‹noun#1|camel›, this.‹noun#5|camel›));\n\t\t}\n\t\tthis.‹noun#3|camel›.requestRender();\n",
    "\t\tswitch (event.type) {\n\t\t\tcase \"‹noun#1|snake›_start\":\n\t\t\t\tthis.‹verb›‹noun#1|pascal›(event.‹noun#1|camel›);\n\t\t\t\tbreak;\n\t\t\tcase \"‹noun#2|snake›_end\": {\n\t\t\t\tconst { ‹noun#2|camel›, ‹noun#3|camel› } = event;\n\t\t\t\treturn ‹noun#2|camel›;\n\t\t\t}\n\t\t\tdefault:\n\t\t\t\tbreak;\n\t\t}\n",
    "export type ‹noun#1|pascal›‹noun#2|pascal› =\n\t| { type: \"‹noun#3|snake›\"; ‹noun#3|camel›: string }\n\t| { type: \"‹noun#4|snake›\"; ‹noun#4|camel›: number };\n",
    "\tif (process.env.‹noun#1|upper›_‹noun#2|upper›) {\n\t\treturn resolve(process.env.‹noun#1|upper›_‹noun#2|upper›);\n\t}\n\tconst dir = join(homedir(), \".‹project›\", \"‹noun|kebab›\");\n\tif (!existsSync(dir)) {\n\t\tmkdirSync(dir, { recursive: true });\n\t}\n",
    "export function ‹noun#1|pascal›‹noun#2|pascal›({ ‹noun#3|camel›, on‹verb#1|pascal› }: Props) {\n  const [‹noun#4|camel›, set‹noun#4|pascal›] = useState<‹noun#4|pascal› | null>(null);\n\n  useEffect(() => {\n    set‹noun#4|pascal›(‹noun#3|camel›);\n  }, [‹noun#3|camel›]);\n\n  return (\n    <div className=\"‹noun#1|kebab›-‹noun#2|kebab›\">\n      <button onClick={() => on‹verb#1|pascal›(‹noun#4|camel›)}>‹verb#1|cap›</button>\n    </div>\n  );\n}\n",
];

const PYTHON: &[&str] = &[
    "@dataclass\nclass ‹noun#1|pascal›‹noun#2|pascal›:\n    \"\"\"‹fact›\"\"\"\n\n    ‹noun#3|snake›: str\n    ‹noun#4|snake›: Optional[int] = None\n    ‹noun#5|snake›s: List[str] = field(default_factory=list)\n",
    "    def ‹verb#1›_‹noun#1|snake›(self, ‹noun#2|snake›: str, *, ‹noun#3|snake›: bool = False) -> Dict[str, Any]:\n        \"\"\"‹fact›\"\"\"\n        if not ‹noun#2|snake›:\n            raise ValueError(f\"‹adj› ‹noun#2›: {‹noun#2|snake›!r}\")\n        return {\"‹noun#1|snake›\": self._‹noun#4|snake›.get(‹noun#2|snake›)}\n",
    "def ‹verb#1›_‹noun#1|snake›(path: Path) -> List[Dict[str, Any]]:\n    with open(path, encoding=\"utf-8\") as f:\n        return [json.loads(line) for line in f if line.strip()]\n",
    "def test_‹verb#1›_‹noun#1|snake›(tmp_path):\n    path = tmp_path / \"‹noun|snake›.json\"\n    path.write_text(\"{}\")\n    result = ‹verb#1›_‹noun#1|snake›(path)\n    assert result == []\n    with pytest.raises(ValueError, match=\"‹noun›\"):\n        ‹verb#1›_‹noun#1|snake›(None)\n",
    "    try:\n        response = await self.client.get(url, timeout=‹int:5:60›)\n        response.raise_for_status()\n    except httpx.HTTPError as exc:\n        logger.warning(\"Failed to ‹verb› ‹noun›: %s\", exc)\n        return None\n",
    "if __name__ == \"__main__\":\n    parser = argparse.ArgumentParser(description=__doc__)\n    parser.add_argument(\"--‹noun|kebab›\", default=None, help=\"‹fact›\")\n    args = parser.parse_args()\n    main(args)\n",
];

const ELIXIR: &[&str] = &[
    "  @doc \"\"\"\n  ‹fact›\n  \"\"\"\n  @spec ‹verb#1›_‹noun#1|snake›(String.t(), keyword()) :: {:ok, map()} | {:error, term()}\n  def ‹verb#1›_‹noun#1|snake›(‹noun#2|snake›, opts \\\\ []) do\n    with {:ok, ‹noun#3|snake›} <- ‹noun#3|pascal›.get(‹noun#2|snake›),\n         :ok <- validate(‹noun#3|snake›) do\n      {:ok, %{‹noun#3|snake›: ‹noun#3|snake›}}\n    else\n      {:error, reason} -> {:error, reason}\n    end\n  end\n",
    "  @impl true\n  def handle_event(\"‹verb#1›_‹noun#1|snake›\", %{\"id\" => id}, socket) do\n    {:noreply, assign(socket, :‹noun#1|snake›, id)}\n  end\n",
    "  defp ‹verb#1›_‹noun#1|snake›(‹noun#2|snake›) do\n    ‹noun#2|snake›\n    |> Enum.reject(&is_nil/1)\n    |> Enum.map(fn ‹noun#3|snake› -> ‹noun#3|snake›.id end)\n    |> Enum.uniq()\n  end\n",
    "  test \"‹verb›s ‹noun› ‹when›\", %{conn: conn} do\n    {:ok, view, html} = live(conn, \"/‹noun|kebab›s\")\n    assert html =~ \"‹noun|cap›\"\n    refute has_element?(view, \"#‹noun|kebab›\")\n  end\n",
];

const SHELL: &[&str] = &[
    "if [[ -z \"${‹noun#1|upper›:-}\" ]]; then\n  echo \"error: ‹noun#1|upper› is not set\" >&2\n  exit 1\nfi\n",
    "for file in ‹dir›/*.‹ext›; do\n  [ -f \"$file\" ] || continue\n  echo \"==> $file\"\ndone\n",
    "‹verb#1›_‹noun#1|snake›() {\n  local ‹noun#2|snake›=\"$1\"\n  git rev-parse --show-toplevel\n  curl -fsSL \"https://example.com/$‹noun#2|snake›\" -o \"$tmp/‹noun#2|kebab›.tar.gz\"\n}\n",
];

const MARKDOWN: &[&str] = &[
    "## ‹noun|cap› ‹noun›\n\n‹fact› ‹fact›\n\n- ‹step›\n- ‹step›\n- `‹path›`: ‹fact›\n",
    "### ‹verb|cap› the ‹noun›\n\n```bash\nnpm install\nnpm run build\n./‹project› ‹verb› --‹noun|kebab›\n```\n\n‹fact›\n",
    "| Option | Default | Description |\n|--------|---------|-------------|\n| `--‹noun|kebab›` | `‹int:1:90›` | ‹fact› |\n| `--‹noun|kebab›` | `false` | ‹fact› |\n",
    "1. **‹step›** – ‹fact›\n2. **‹step›** – ‹fact›\n3. **‹step›**\n",
];

const CONFIG: &[&str] = &[
    "[dependencies]\n‹crate› = { version = \"1.‹int:0:40›\", features = [\"‹noun|kebab›\"] }\n‹crate› = \"0.‹int:1:30›\"\n",
    "[‹noun|snake›.‹noun|snake›]\nenabled = true\n‹noun|snake› = \"‹noun|kebab›\"\n‹noun|snake›_max = ‹int:1:5000›\n",
    "      - uses: actions/checkout@v4\n      - name: ‹verb|cap› ‹noun›\n        run: make ‹verb›\n        env:\n          ‹noun|upper›: ${{ secrets.‹noun|upper› }}\n",
    "{\n  \"name\": \"@acme/‹noun|kebab›\",\n  \"version\": \"0.‹int:1:30›.‹int:0:9›\",\n  \"type\": \"module\",\n  \"scripts\": {\n    \"build\": \"tsc -p tsconfig.json\",\n    \"test\": \"vitest run\"\n  }\n}\n",
];
