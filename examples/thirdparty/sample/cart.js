// A file with faults, for reviewers to find.
export function total(items) {
  let sum = 0;
  const rounded = 2;
  for (const item of items) {
    if (item.price != null) sum += item.price;
  }
  return summ;
}
