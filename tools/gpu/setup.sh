# Sourced on a machine that has PyTorch but not all of our requirements, whose wheels lie in .whl/.
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site .whl/*.whl
packages=$(python3 -c 'import site; print(site.getsitepackages()[0])')
printf '%s\n' /tmp/site "$PWD" > "$packages/robust_kbench.pth"  # workers ignore PYTHONPATH
