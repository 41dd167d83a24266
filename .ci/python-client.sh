# Sourced by jobs that use the PyPI `kubernetes` client.

# Prints the Python of a virtual environment with the client, which is made at the first call. `$1` is a file for the output of pip.
python_client() {
  local venv=${FOREIGN_VENV:-/tmp/kube-foreign-venv}
  if ! "$venv/bin/python" -c 'import kubernetes' 2>/dev/null; then
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q kubernetes; } >"$1" 2>&1 || return 1
  fi
  echo "$venv/bin/python"
}
